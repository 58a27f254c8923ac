"""Values of callers in the memory of one process.

The total size is limited: beyond it, the owner that was not used for the longest time loses its
values.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from dovetail.errors import LimitError

__all__ = ["ENTRY_BYTES", "MemorySessionStates", "too_large"]

_MAX_TOTAL_BYTES = 64 * 1024 * 1024
# What an entry counts in addition to its key and value, so that their number is limited too.
ENTRY_BYTES = 100


class _Owner:
    """The values of one owner."""

    __slots__ = ("expires", "lifetime", "size", "values")

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.size = 0
        self.lifetime = math.inf
        self.expires = math.inf


class MemorySessionStates:
    """A `SessionStateStore` within one process."""

    def __init__(
        self,
        max_total_bytes: int = _MAX_TOTAL_BYTES,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_total_bytes = max_total_bytes
        self._clock = clock
        # Least recently used first.
        self._owners: OrderedDict[str, _Owner] = OrderedDict()
        self._size = 0

    async def get(self, owner: str, key: str) -> bytes | None:
        """The value, None if there is none."""
        found = self._find(owner)
        return None if found is None else found.values.get(key)

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        """Store a value; raises LimitError if the owner would have more than `max_bytes`."""
        found = self._find(owner) or _Owner()
        change = _size(key, value) - _size(key, found.values.get(key))
        if found.size + change > max_bytes:
            raise too_large(max_bytes)
        found.values[key] = value
        found.size += change
        found.lifetime = math.inf if lifetime is None else lifetime
        self._size += change
        self._owners[owner] = found
        self._find(owner)
        while self._size > self._max_total_bytes and len(self._owners) > 1:
            self.forget(next(iter(self._owners)))

    async def delete(self, owner: str, key: str) -> None:
        """Remove a value, if it exists."""
        found = self._find(owner)
        if found is None:
            return
        size = _size(key, found.values.pop(key, None))
        found.size -= size
        self._size -= size
        if not found.values:
            self.forget(owner)

    def forget(self, owner: str) -> None:
        """Remove all values of an owner."""
        found = self._owners.pop(owner, None)
        if found is not None:
            self._size -= found.size

    def _find(self, name: str) -> _Owner | None:
        """The owner, now the most recently used one; None if it has no values or they expired."""
        now = self._clock()
        found = self._owners.get(name)
        if found is not None and found.expires <= now:
            self.forget(name)
            found = None
        if found is not None:
            found.expires = now + found.lifetime
            self._owners.move_to_end(name)
        return found


def too_large(max_bytes: int) -> LimitError:
    """The error for an owner with too many bytes."""
    return LimitError(
        f"The session state of this caller is over its limit of {max_bytes:,} bytes; "
        "delete values that are no longer needed"
    )


def _size(key: str, value: bytes | None) -> int:
    return 0 if value is None else len(key.encode()) + len(value) + ENTRY_BYTES
