"""Guards from plain settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.auth import GuardSettings, KeyFile
from dovetail.errors import UsageError


def test_without_keys_and_issuer_anybody_may_call() -> None:
    guard = GuardSettings(read_only=True).build()
    assert guard is not None and not guard.requires_auth


def test_keys_and_an_issuer_require_credentials(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.add("anna")
    guard = GuardSettings(
        keys=str(file.path),
        key_header="X-Key",
        issuer="https://id.example",
        resource="https://me.example/mcp",
        rate="10/s",
        audit="-",
    ).build()
    assert guard is not None
    assert guard.requires_auth
    assert guard.credential_headers == {b"authorization", b"x-key"}


def test_wrong_settings_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        GuardSettings(keys=str(tmp_path / "nowhere.json")).build()
    with pytest.raises(UsageError):
        GuardSettings(rate="often").build()


def test_a_guard_that_does_not_fit_together(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere.json")
    guard = GuardSettings(keys=nowhere, issuer="https://id.example", rate="often", audit="x/y/z")
    problems = [problem.partition(":")[0] for problem in guard.find_problems("guard")]
    assert problems == ["guard", "guard.keys", "guard.rate"]
    [problem] = GuardSettings(key_header="X").find_problems("guard")
    assert problem == "guard.key_header: requires guard.keys"


def test_a_guard_is_built_if_something_is_set(tmp_path: Path) -> None:
    assert GuardSettings().build() is None
    KeyFile(tmp_path / "keys.json").add("anna")
    settings = GuardSettings(keys=str(tmp_path / "keys.json"))
    assert list(settings.find_problems("guard")) == []
    guard = settings.build()
    assert guard is not None and guard.requires_auth
