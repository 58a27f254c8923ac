"""An SSE stream that outlives its connection, so that the client can resume it."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dovetail.stores.events import MemoryEventLog
from dovetail.transports.asgi.reply import Reply
from dovetail.wire.framing import encode_sse

__all__ = ["MemoryStream", "Stream"]


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
