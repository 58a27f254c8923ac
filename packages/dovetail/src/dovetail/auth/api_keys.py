"""Authentication by keys that the operator gives out: `ApiKeys` of a file, or `BearerTokens`.

The file has salted hashes, scopes, expiry and labels, but not the keys themselves. A key is
`dtk_<id>_<secret>` with 256 random bits in the secret. It cannot be guessed, so one round of salted
BLAKE2 is as safe as a slow hash, and fast enough for every call. The file is replaced atomically,
under a lock, so readers never see a partial file.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Collection, Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from dovetail.auth.credentials import MAX_TOKEN, Credentials, Found, Rejected
from dovetail.core.principal import Principal, read_scopes, to_principal
from dovetail.errors import UsageError
from dovetail.runtime.key_files import ReloadedFile

__all__ = ["PREFIX", "ApiKeys", "BearerTokens", "KeyFile", "KeyRecord", "StoredHash", "hash_of"]

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


_PREFIX = PREFIX.encode()


class _Secret(NamedTuple):
    salt: bytes
    hash: bytes
    until: float | None


class _Known(NamedTuple):
    record: KeyRecord
    principal: Principal
    secrets: tuple[_Secret, ...]


# Compared with if the key does not exist, so that the response time is the same.
_DECOY = (_Secret(secrets.token_bytes(16), secrets.token_bytes(32), None),)


class ApiKeys:
    """Authenticates callers by the keys in a file, which `dovetail keys` writes.

    The server reads changes to the file within `look_every` seconds, without a restart.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | None = None,
        look_every: float = 1.0,
    ) -> None:
        self._file = KeyFile(path)
        self._header = None if header is None else header.lower().encode("latin-1")
        self.credential_headers: tuple[bytes, ...] = (
            (b"authorization",) if self._header is None else (b"authorization", self._header)
        )
        if not self._file.path.exists():
            raise UsageError(
                f"{self._file.path}: no such file; create it with: dovetail keys add "
                f"--file {self._file.path} LABEL"
            )
        self._known = ReloadedFile(path, self._load, look_every=look_every)
        # Ids of revoked keys, from the clusters of the servers that use this object.
        self._revoked: list[Container[str]] = []

    def reject(self, revoked: Container[str]) -> None:
        """Reject keys with these ids as well; the ids may change."""
        if revoked not in self._revoked:
            self._revoked.append(revoked)

    def authenticate(self, credentials: Credentials) -> Found:
        """The principal of the key in a request."""
        given = credentials.token
        if given is None or not given.startswith(_PREFIX):
            if self._header is None or self._header not in credentials.headers:
                return None
            given = credentials.headers[self._header].strip()
            if len(given) > MAX_TOKEN:
                return Rejected("the key is too long")
        return self.check(given)

    def check(self, key: bytes) -> Principal | Rejected:
        """The principal of a key."""
        id = key[len(_PREFIX) :].partition(b"_")[0]
        known = self._known.current().get(id)
        now = time.time()
        is_right = False
        # Compare with all of them, so that the response time does not tell which one matched.
        for salt, hash, until in _DECOY if known is None or not known.secrets else known.secrets:
            is_same = hmac.compare_digest(hash_of(salt, key), hash)
            is_right |= is_same and (until is None or now < until)
        if known is None or not is_right:
            return Rejected("unknown key")
        record = known.record
        if not record.is_valid(now) or (self._revoked and self._is_revoked(record.id)):
            return Rejected(f"key {record.id} is revoked or expired")
        return known.principal

    def _is_revoked(self, id: str) -> bool:
        return any(id in revoked for revoked in self._revoked)

    def _load(self) -> dict[bytes, _Known]:
        return {record.id.encode(): _known(record) for record in self._file.read()}


def _known(record: KeyRecord) -> _Known:
    principal = Principal(f"key:{record.id}", record.scopes, {"label": record.label})
    hashes = tuple(
        _Secret(base64.b64decode(each.salt), base64.b64decode(each.hash), each.until)
        for each in record.hashes
    )
    return _Known(record, principal, hashes)


_MIN_CHARACTERS = 12


class BearerTokens:
    """Authenticates callers that send `Authorization: Bearer <token>` with one of these tokens.

    The mapping has the id or the `Principal` of each token. Take the tokens from the environment or
    a secret store; `ApiKeys` stores hashes in a file and can revoke them while the server runs.
    """

    credential_headers: Collection[bytes] = (b"authorization",)

    def __init__(self, tokens: Mapping[str, Principal | str]) -> None:
        if not tokens or not hasattr(tokens, "items"):
            raise UsageError(
                "BearerTokens needs a mapping from tokens to principals, such as "
                '{"token-of-ada": "ada"}'
            )
        # Digests have one length, and a traceback that shows them reveals no token.
        self._known = [(_digest(token), _principal(tokens[token])) for token in tokens]

    def __repr__(self) -> str:
        return f"BearerTokens({len(self._known)} tokens)"

    def authenticate(self, credentials: Credentials) -> Found:
        """The principal of the token in a request; None if another authenticator may know it."""
        if credentials.token is None:
            return None
        given = hashlib.sha256(credentials.token).digest()
        found = None
        # Compared with all of them, so that the response time does not tell which one matched.
        for digest, principal in self._known:
            if hmac.compare_digest(given, digest):
                found = principal
        return found


def _digest(token: object) -> bytes:
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise UsageError("A bearer token must be a string of printable ASCII characters")
    if " " in token or "," in token:
        raise UsageError("A bearer token must not contain a space or a comma")
    if len(token) < _MIN_CHARACTERS:
        # Without the token: the message may be logged.
        raise UsageError(
            f"A bearer token must have at least {_MIN_CHARACTERS} characters, got one of "
            f"{len(token)}; make one with: python -c 'import secrets; "
            "print(secrets.token_urlsafe())'"
        )
    return hashlib.sha256(token.encode()).digest()


def _principal(given: Principal | str) -> Principal:
    principal = to_principal(given)
    if not isinstance(principal, Principal):
        raise UsageError(f"A token needs the id of its principal or a Principal, got {given!r}")
    return principal
