"""Tokens that have been found good, under their digest: none of them is kept itself."""

from __future__ import annotations

import hashlib
import time

from dovetail.core.principal import Principal

__all__ = ["TokenMemory"]

_MOST_TOKENS = 10_000


class TokenMemory:
    """Who has which token, for a short while and no longer than the token is good."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._known: dict[bytes, tuple[Principal, float]] = {}

    def find(self, token: bytes) -> Principal | None:
        """Whose it is, if it has been found good not long ago."""
        known = self._known.get(hashlib.sha256(token).digest())
        if known is None or time.time() >= known[1]:
            return None
        return known[0]

    def keep(self, token: bytes, principal: Principal, expires: float) -> None:
        """It is good until `expires` at most."""
        if len(self._known) >= _MOST_TOKENS:
            self._known.clear()
        until = min(expires, time.time() + self._lifetime)
        self._known[hashlib.sha256(token).digest()] = principal, until

    def clear(self) -> None:
        """Ask for all of them again."""
        self._known.clear()
