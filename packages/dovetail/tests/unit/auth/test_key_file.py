"""The file of API keys: hashes only, atomic writes, valid and invalid keys."""

from __future__ import annotations

import json
import stat
import threading
import time
from pathlib import Path

import pytest

from dovetail.auth.api_keys import KeyFile
from dovetail.errors import UsageError


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys.json")


def test_a_key_is_stored_as_a_salted_hash(keys: KeyFile) -> None:
    record, text = keys.add("anna", ["b", "a"], expires=123.0)
    _, other = keys.add("anna")
    assert text.startswith(f"dtk_{record.id}_")
    written = keys.path.read_text()
    for key in (text, other):
        assert key.split("_", 2)[2] not in written
    first, second = keys.read()
    assert (first.label, first.scopes, first.expires) == ("anna", ["a", "b"], 123.0)
    assert first.hashes[0].salt != second.hashes[0].salt
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600


def test_keys_are_long_and_unique(keys: KeyFile) -> None:
    texts = {keys.add(f"key {number}")[1] for number in range(20)}
    assert len(texts) == 20
    assert min(len(text.split("_", 2)[2]) for text in texts) >= 43


def test_a_missing_file_has_no_keys(keys: KeyFile) -> None:
    assert keys.read() == []


@pytest.mark.parametrize("label", ["", "  ", "a\nb"])
def test_a_key_needs_a_label(keys: KeyFile, label: str) -> None:
    with pytest.raises(UsageError, match="label"):
        keys.add(label)
    assert not keys.path.exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not a valid key file"),
        ("[]", "not a valid key file"),
        ('{"version":2,"keys":[]}', "version 2"),
    ],
)
def test_an_invalid_file_is_rejected_and_not_changed(
    keys: KeyFile, text: str, complaint: str
) -> None:
    keys.path.write_text(text)
    with pytest.raises(UsageError, match=complaint):
        keys.add("anna")
    assert keys.path.read_text() == text


def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the key file"):
        KeyFile(tmp_path).read()


def test_a_revoked_key_has_no_hashes(keys: KeyFile) -> None:
    record, _ = keys.add("anna")
    keys.revoke(record.id)
    [found] = keys.read()
    assert found.hashes == []
    assert not found.is_valid(0)
    when = found.revoked
    keys.revoke(record.id)
    assert keys.read()[0].revoked == when


def test_a_rotated_key_keeps_its_identity(keys: KeyFile) -> None:
    record, old = keys.add("anna", ["a"])
    again, new = keys.rotate(record.id, grace=60)
    assert (again.id, again.label, again.scopes) == (record.id, "anna", ["a"])
    assert new != old
    [found] = keys.read()
    fresh, former = found.hashes
    assert fresh.until is None
    assert former.until is not None
    assert former.until > time.time()
    # Once more: the oldest does not get more time than it had.
    keys.rotate(record.id, grace=3600)
    assert keys.read()[0].hashes[2].until == former.until
    keys.rotate(record.id)
    assert len(keys.read()[0].hashes) == 1


def test_a_revoked_or_expired_key_cannot_be_rotated(keys: KeyFile) -> None:
    record, _ = keys.add("anna", expires=1.0)
    with pytest.raises(UsageError, match="expired"):
        keys.rotate(record.id)
    with pytest.raises(UsageError, match=record.id):
        keys.revoke("nobody")


def test_concurrent_writers_lose_no_key(keys: KeyFile) -> None:
    workers = [threading.Thread(target=keys.add, args=(f"key {n}",)) for n in range(10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(json.loads(keys.path.read_text())["keys"]) == 10
