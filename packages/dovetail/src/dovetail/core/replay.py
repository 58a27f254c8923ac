"""Ids that count once: of the answers to questions, and of DPoP proofs."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Protocol

__all__ = ["MemoryUsedIds", "UsedIds"]

_MAX_IDS = 100_000


class UsedIds(Protocol):
    """Remembers used ids."""

    def use(self, id: bytes, lifetime: float) -> bool | Awaitable[bool]:
        """Record an id for `lifetime` seconds; False if it is recorded already."""


class MemoryUsedIds:
    """Remembers the ids that this process has seen."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # In order of expiry, because all ids of a server have the same lifetime.
        self._expiry: OrderedDict[bytes, float] = OrderedDict()

    def use(self, id: bytes, lifetime: float) -> bool:
        """Record an id for `lifetime` seconds; False if it is recorded already."""
        now = self._clock()
        while self._expiry and next(iter(self._expiry.values())) <= now:
            self._expiry.popitem(last=False)
        if id in self._expiry:
            return False
        self._expiry[id] = now + lifetime
        if len(self._expiry) > _MAX_IDS:
            self._expiry.popitem(last=False)
        return True
