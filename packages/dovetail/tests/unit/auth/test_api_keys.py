"""Authentication by API key."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from dovetail.auth import api_keys as module
from dovetail.auth.api_keys import ApiKeys, KeyFile, hash_of
from dovetail.auth.credentials import Credentials, Rejected
from dovetail.core.principal import Principal
from dovetail.errors import UsageError


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys.json")


def ask(keys: ApiKeys, token: str | None, **headers: str) -> Principal | Rejected | None:
    named = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    found = keys.authenticate(Credentials(None if token is None else token.encode(), named))
    assert found is None or isinstance(found, Principal | Rejected)
    return found


def test_a_key_identifies_its_principal(file: KeyFile) -> None:
    record, key = file.add("anna", ["a"])
    found = ask(ApiKeys(file.path), key)
    assert found == Principal(f"key:{record.id}", ["a"])
    assert isinstance(found, Principal)
    assert found.claims == {"label": "anna"}


def test_a_custom_header_works(file: KeyFile) -> None:
    record, key = file.add("anna")
    keys = ApiKeys(file.path, header="X-Api-Key")
    assert keys.credential_headers == (b"authorization", b"x-api-key")
    assert ask(keys, None, x_api_key=key) == Principal(f"key:{record.id}")
    assert isinstance(ask(keys, None, x_api_key="wrong"), Rejected)
    assert isinstance(ask(keys, None, x_api_key="w" * 20_000), Rejected)
    assert ask(ApiKeys(file.path), None, x_api_key=key) is None


def test_other_tokens_are_left_to_other_authenticators(file: KeyFile) -> None:
    file.add("anna")
    keys = ApiKeys(file.path)
    assert ask(keys, None) is None
    assert ask(keys, "eyJ.x.y") is None


def test_wrong_expired_and_revoked_keys_are_rejected(file: KeyFile) -> None:
    record, key = file.add("anna")
    _, expired = file.add("bert", expires=1.0)
    revoked, gone = file.add("carl")
    file.revoke(revoked.id)
    keys = ApiKeys(file.path)
    for bad in (f"{key}x", key[:-1], expired, gone, "dtk_", "dtk_x_y", f"dtk_{record.id}_"):
        assert isinstance(ask(keys, bad), Rejected)
    assert isinstance(ask(keys, key), Principal)


def test_changes_to_the_file_need_no_restart(file: KeyFile) -> None:
    record, key = file.add("anna")
    keys = ApiKeys(file.path, look_every=0)
    _, rotated = file.rotate(record.id, grace=60)
    assert isinstance(ask(keys, key), Principal)
    assert isinstance(ask(keys, rotated), Principal)
    file.revoke(record.id)
    assert isinstance(ask(keys, rotated), Rejected)
    _, later = file.add("bert")
    assert isinstance(ask(keys, later), Principal)
    file.path.unlink()
    assert isinstance(ask(keys, later), Rejected)


def test_a_rotated_secret_is_valid_until_its_grace_ends(
    file: KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, key = file.add("anna")
    file.rotate(record.id, grace=60)
    keys = ApiKeys(file.path)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert isinstance(ask(keys, key), Rejected)


def test_the_file_is_checked_at_an_interval(file: KeyFile) -> None:
    _, key = file.add("anna")
    keys = ApiKeys(file.path, look_every=3600)
    file.path.unlink()
    assert isinstance(ask(keys, key), Principal)


def test_an_invalid_file_is_logged_and_ignored(
    file: KeyFile, caplog: pytest.LogCaptureFixture
) -> None:
    _, key = file.add("anna")
    keys = ApiKeys(file.path, look_every=0)
    file.path.write_text("{")
    caplog.set_level(logging.ERROR)
    assert isinstance(ask(keys, key), Principal)
    assert "was not reloaded" in caplog.text


def test_a_missing_file_error_says_how_to_create_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dovetail keys add"):
        ApiKeys(tmp_path / "none.json")


@pytest.mark.parametrize("kind", ["unknown id", "wrong secret", "revoked", "garbage"])
def test_a_wrong_key_costs_as_many_hashes_as_a_right_one(
    kind: str, file: KeyFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, key = file.add("anna")
    gone, revoked = file.add("bert")
    file.revoke(gone.id)
    keys = ApiKeys(file.path)
    hashed: list[bytes] = []
    real = hash_of

    def counted(salt: bytes, text: bytes) -> bytes:
        hashed.append(text)
        return real(salt, text)

    monkeypatch.setattr(module, "hash_of", counted)
    assert isinstance(ask(keys, key), Principal)
    wrong = {
        "unknown id": "dtk_000000000000_" + "x" * 43,
        "wrong secret": f"dtk_{record.id}_" + "x" * 43,
        "revoked": revoked,
        "garbage": "dtk_",
    }
    assert isinstance(ask(keys, wrong[kind]), Rejected)
    assert len(hashed) == 2
