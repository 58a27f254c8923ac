"""Stream events, kept for clients that reconnect.

A limited number of bytes per stream, in memory. An event id is `<stream>_<number>`: the stream and
the position in it.
"""

from __future__ import annotations

from collections import deque

__all__ = ["MemoryEventLog"]


class MemoryEventLog:
    """Stores the newest events of one stream in memory."""

    __slots__ = ("_bytes", "_events", "_last", "_limit", "_stream")

    def __init__(self, stream: str, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._events: deque[tuple[int, bytes]] = deque()
        self._last = -1
        self._bytes = 0

    def append(self, message: bytes) -> bytes:
        """Store an event; drops the oldest ones beyond the limit."""
        self._last += 1
        self._events.append((self._last, message))
        self._bytes += len(message)
        while self._bytes > self._limit and len(self._events) > 1:
            self._bytes -= len(self._events.popleft()[1])
        return self._id(self._last)

    def after(self, id: bytes) -> list[tuple[bytes, bytes]] | None:
        """The events after `id`, or None if some of them were dropped."""
        stream, _, number = id.decode("latin-1").rpartition("_")
        if stream != self._stream or not number.isdigit():
            return None
        seen = int(number)
        if seen > self._last or (self._events and seen < self._events[0][0] - 1):
            return None
        return [(self._id(n), message) for n, message in self._events if n > seen]

    def _id(self, number: int) -> bytes:
        return f"{self._stream}_{number}".encode()
