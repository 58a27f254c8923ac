"""Authentication by API key: `Authorization: Bearer dtk_...`, or a header of your choice."""

from __future__ import annotations

import base64
import hmac
import os
import secrets
import time
from collections.abc import Container
from typing import NamedTuple

from dovetail.auth.credentials import MAX_TOKEN, Credentials, Found, Rejected
from dovetail.auth.key_file import PREFIX, KeyFile, KeyRecord, hash_of
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.runtime.reloaded_file import ReloadedFile

__all__ = ["ApiKeys"]

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
