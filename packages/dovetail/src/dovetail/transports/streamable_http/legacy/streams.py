"""An SSE stream that outlives its connection, so that the client can resume it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque

from dovetail.transports.asgi.reply import Reply
from dovetail.wire.framing import encode_sse

__all__ = ["MemoryEventLog", "MemoryStream", "Stream"]


class MemoryEventLog:
    """The newest events of one stream, in memory, up to a number of bytes.

    An event id is `<stream>_<number>`: the stream and the position in it.
    """

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


class Stream(ABC):
    """One SSE stream that this process produces, and the current connection, if any."""

    __slots__ = ("finished", "reply", "sent_bytes")

    def __init__(self, reply: Reply) -> None:
        self.reply: Reply | None = reply
        # Total bytes sent on the stream.
        self.sent_bytes: int = 0
        # No more messages will be sent on the stream.
        self.finished: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a client is connected to the stream."""
        return self.reply is not None

    @abstractmethod
    def prime(self) -> None:
        """Send an empty event, so that the client has an id to resume from."""

    @abstractmethod
    def send(self, message: bytes, *, is_answer: bool = False) -> None:
        """Send a message, or keep it for the next connection."""

    @abstractmethod
    async def drain(self) -> None:
        """Wait until what was sent is stored."""

    def finish(self) -> None:
        """Send no more messages; the client can still fetch those that it has missed."""
        self.finished = True

    def detach(self, retry_ms: int | None = None) -> None:
        """Close the connection; the stream stays open."""
        if self.reply is not None:
            if retry_ms is not None:
                # http.sse.retry (2025-11-25 basic/transports): tell the client when to reconnect
                self.reply.raw(encode_sse(b"", retry=retry_ms))
            self.reply.stop()
            self.reply = None


class MemoryStream(Stream):
    """A stream whose events are kept in memory."""

    __slots__ = ("_log",)

    def __init__(self, log: MemoryEventLog, reply: Reply) -> None:
        super().__init__(reply)
        self._log = log

    def prime(self) -> None:
        """Send an empty event, so that the client has an id to resume from."""
        # http.sse.prime (2025-11-25 basic/transports)
        if self.reply is not None:
            self.reply.raw(encode_sse(b"", id=self._log.append(b"")))

    def send(self, message: bytes, *, is_answer: bool = False) -> None:
        """Send a message, or keep it for the next connection."""
        self.sent_bytes += len(message)
        id = self._log.append(message)
        if self.reply is not None:
            self.reply.event(message, id=id, is_answer=is_answer)

    async def drain(self) -> None:
        """Nothing to wait for."""

    def move_to(self, reply: Reply, last_event_id: bytes) -> bool:
        """Continue on another connection after an event; False if the event id is unknown."""
        missed = self._log.after(last_event_id)
        if missed is None:
            return False
        self.detach()
        self.reply = reply
        for id, message in missed:
            if message:
                # Never dropped: the log has them only once.
                reply.event(message, id=id, is_answer=True)
        return True
