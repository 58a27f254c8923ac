"""Guards from plain settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.auth.key_file import KeyFile
from dovetail.auth.settings import make_guard
from dovetail.errors import UsageError


def test_without_keys_and_issuer_anybody_may_call() -> None:
    assert not make_guard(read_only=True).requires_auth


def test_keys_and_an_issuer_require_credentials(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    file.add("anna")
    guard = make_guard(
        keys=str(file.path),
        key_header="X-Key",
        issuer="https://id.example",
        resource="https://me.example/mcp",
        rate="10/s",
        audit="-",
    )
    assert guard.requires_auth
    assert guard.credential_headers == {b"authorization", b"x-key"}


def test_wrong_settings_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        make_guard(keys=str(tmp_path / "nowhere.json"))
    with pytest.raises(UsageError):
        make_guard(rate="often")
