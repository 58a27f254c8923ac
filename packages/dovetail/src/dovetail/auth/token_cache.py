"""A cache of validated tokens, stored by digest: the tokens themselves are not kept."""

from __future__ import annotations

import hashlib
import time

from dovetail.core.principal import Principal

__all__ = ["TokenCache"]

_MAX_TOKENS = 10_000


class TokenCache:
    """Principals by token, for `lifetime` seconds or until the token expires."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._known: dict[bytes, tuple[Principal, float]] = {}

    def find(self, token: bytes) -> Principal | None:
        """The principal of a token, if it is cached."""
        known = self._known.get(hashlib.sha256(token).digest())
        if known is None or time.time() >= known[1]:
            return None
        return known[0]

    def keep(self, token: bytes, principal: Principal, expires: float) -> None:
        """Cache a token that is valid until `expires`."""
        if len(self._known) >= _MAX_TOKENS:
            self._known.clear()
        until = min(expires, time.time() + self._lifetime)
        self._known[hashlib.sha256(token).digest()] = principal, until

    def clear(self) -> None:
        """Drop all tokens, so that they are validated again."""
        self._known.clear()
