"""The file of API keys: salted hashes, scopes, expiry and labels, but not the keys themselves.

A key is `dtk_<id>_<secret>` with 256 random bits in the secret. It cannot be guessed, so one round
of salted BLAKE2 is as safe as a slow hash, and fast enough for every call. The file is replaced
atomically, under a lock, so readers never see a partial file.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from dovetail.core.permission import read_scopes
from dovetail.errors import UsageError

__all__ = ["PREFIX", "KeyFile", "KeyRecord", "StoredHash", "hash_of"]

PREFIX = "dtk_"
_ID_BYTES = 6
_SECRET_BYTES = 32
_SALT_BYTES = 16
_VERSION = 1


class StoredHash(Struct, omit_defaults=True):
    """The stored hash of one secret of a key."""

    salt: str
    hash: str
    # Unix time at which a replaced secret expires.
    until: float | None = None


class KeyRecord(Struct, omit_defaults=True):
    """The stored data of a key. Times are Unix timestamps."""

    id: str
    label: str
    scopes: list[str]
    created: float
    hashes: list[StoredHash]
    expires: float | None = None
    revoked: float | None = None

    def is_valid(self, now: float) -> bool:
        """Whether the key is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class _Contents(Struct):
    version: int
    keys: list[KeyRecord]


class KeyFile:
    """A file of API keys, with methods to add, rotate and revoke them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)

    def read(self) -> list[KeyRecord]:
        """All keys, oldest first; raises UsageError if the file is invalid."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self.path}: cannot read the key file: {error.strerror}") from None
        try:
            contents = msgspec.json.decode(data, type=_Contents)
        except msgspec.DecodeError as error:
            raise UsageError(f"{self.path}: not a valid key file: {error}") from None
        if contents.version != _VERSION:
            raise UsageError(
                f"{self.path}: unknown version {contents.version}; supported: {_VERSION}"
            )
        return contents.keys

    def add(
        self, label: str, scopes: Collection[str] = (), expires: float | None = None
    ) -> tuple[KeyRecord, str]:
        """Add a key; returns its record and the key itself, which is not stored."""
        if not label.strip() or not label.isprintable():
            raise UsageError(f"A key needs a printable label that names its owner, got {label!r}")
        names = sorted(read_scopes(scopes, "a key"))
        with self._locked() as keys:
            id = secrets.token_hex(_ID_BYTES)
            text, stored = _new_secret(id)
            record = KeyRecord(id, label, names, time.time(), [stored], expires)
            keys.append(record)
        return record, text

    def rotate(self, id: str, grace: float = 0.0) -> tuple[KeyRecord, str]:
        """Give a key a new secret; the old one stays valid for `grace` more seconds."""
        now = time.time()
        with self._locked() as keys:
            record = _find(keys, id)
            if not record.is_valid(now):
                raise UsageError(f"Key {id} is revoked or expired; add a new one")
            text, stored = _new_secret(id)
            valid = [each for each in record.hashes if each.until is None or each.until > now]
            for each in valid:
                each.until = min(now + grace, each.until or now + grace)
            record.hashes = [stored, *(valid if grace > 0 else ())]
        return record, text

    def revoke(self, id: str) -> KeyRecord:
        """Revoke a key permanently; its record stays in the file."""
        with self._locked() as keys:
            record = _find(keys, id)
            record.revoked = record.revoked or time.time()
            record.hashes = []
        return record

    @contextlib.contextmanager
    def _locked(self) -> Iterator[list[KeyRecord]]:
        lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            keys = self.read()
            yield keys
            self._write(keys)
        finally:
            os.close(lock)

    def _write(self, keys: list[KeyRecord]) -> None:
        data = msgspec.json.format(msgspec.json.encode(_Contents(_VERSION, keys)), indent=2)
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        number = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with open(number, "wb") as file:
            file.write(data + b"\n")
            file.flush()
            os.fsync(number)
        fresh.replace(self.path)


def hash_of(salt: bytes, key: bytes) -> bytes:
    """The hash of a key that is stored."""
    return hashlib.blake2b(key, salt=salt, digest_size=32).digest()


def _new_secret(id: str) -> tuple[str, StoredHash]:
    text = f"{PREFIX}{id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    salt = secrets.token_bytes(_SALT_BYTES)
    return text, StoredHash(_to_base64(salt), _to_base64(hash_of(salt, text.encode())))


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _find(keys: list[KeyRecord], id: str) -> KeyRecord:
    for record in keys:
        if record.id == id:
            return record
    known = ", ".join(record.id for record in keys) or "none"
    raise UsageError(f"There is no key {id!r}; existing keys: {known}")
