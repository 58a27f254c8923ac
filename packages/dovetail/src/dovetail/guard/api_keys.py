"""Callers known by API keys: `Authorization: Bearer dtk_...`, or in a header of its own."""

from __future__ import annotations

import base64
import hmac
import logging
import os
import secrets
import time
from typing import NamedTuple

from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.guard.credentials import LONGEST_TOKEN, Credentials, Found, Rejected
from dovetail.guard.key_file import PREFIX, KeyFile, KeyRecord, hash_of

__all__ = ["ApiKeys"]

logger = logging.getLogger("dovetail")

_PREFIX = PREFIX.encode()


class _Secret(NamedTuple):
    salt: bytes
    hash: bytes
    until: float | None


class _Known(NamedTuple):
    record: KeyRecord
    principal: Principal
    secrets: tuple[_Secret, ...]


# Compared with where there is no such key, so that it takes as long as where there is one.
_DECOY = (_Secret(secrets.token_bytes(16), secrets.token_bytes(32), None),)


class ApiKeys:
    """Knows callers by the keys of a file, which `dovetail keys` writes.

    A change of the file counts within `look_every` seconds, without a restart.
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
        self.credential_headers = (
            (b"authorization",) if self._header is None else (b"authorization", self._header)
        )
        self._look_every = look_every
        self._looked = time.monotonic()
        self._state = self._state_of_file()
        if self._state is None:
            raise UsageError(
                f"{self._file.path}: there is no such file; make it with: dovetail keys add "
                f"--file {self._file.path} LABEL"
            )
        self._known = self._load()

    def authenticate(self, credentials: Credentials) -> Found:
        """Who has this key."""
        given = credentials.token
        if given is None or not given.startswith(_PREFIX):
            if self._header is None or self._header not in credentials.headers:
                return None
            given = credentials.headers[self._header].strip()
            if len(given) > LONGEST_TOKEN:
                return Rejected("the key is too long")
        return self.check(given)

    def check(self, key: bytes) -> Principal | Rejected:
        """Whose key this is."""
        monotonic = time.monotonic()
        if monotonic - self._looked >= self._look_every:
            self._looked = monotonic
            self._look()
        id = key[len(_PREFIX) :].partition(b"_")[0]
        known = self._known.get(id)
        now = time.time()
        is_right = False
        # All of them, whichever is right: the time must not tell.
        for salt, hash, until in _DECOY if known is None or not known.secrets else known.secrets:
            is_same = hmac.compare_digest(hash_of(salt, key), hash)
            is_right |= is_same and (until is None or now < until)
        if known is None or not is_right:
            return Rejected("there is no such key")
        if not known.record.is_good(now):
            return Rejected(f"key {known.record.id} is revoked or expired")
        return known.principal

    def _look(self) -> None:
        state = self._state_of_file()
        if state == self._state:
            return
        try:
            self._known = self._load() if state is not None else {}
        except UsageError as error:
            # Better the keys of a moment ago than nobody, or anybody.
            logger.error("the keys stay as they were: %s", error)
        self._state = state

    def _state_of_file(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._file.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> dict[bytes, _Known]:
        return {record.id.encode(): _known(record) for record in self._file.read()}


def _known(record: KeyRecord) -> _Known:
    principal = Principal(f"key:{record.id}", record.scopes, {"label": record.label})
    kept = tuple(
        _Secret(base64.b64decode(each.salt), base64.b64decode(each.hash), each.until)
        for each in record.hashes
    )
    return _Known(record, principal, kept)
