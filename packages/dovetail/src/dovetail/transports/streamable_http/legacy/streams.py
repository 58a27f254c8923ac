"""An SSE stream that outlives its connection, so that the client can resume it."""

from __future__ import annotations

from typing import Protocol

from dovetail.stores.events import EventLog
from dovetail.wire.framing import encode_sse

__all__ = ["Stream", "StreamOutput"]


class StreamOutput(Protocol):
    """Where the events of a stream go: a connection of this process or of another one."""

    def raw(self, chunk: bytes) -> None:
        """Send an encoded event."""

    def event(self, message: bytes, *, id: bytes | None = None, is_answer: bool = False) -> None:
        """Send a message; it may be dropped for a slow client, unless it is the response."""

    def stop(self) -> None:
        """End after what was sent."""


class Stream:
    """One SSE stream: an event log and the current connection, if any."""

    __slots__ = ("finished", "log", "reply", "sent_bytes")

    def __init__(self, log: EventLog, reply: StreamOutput) -> None:
        self.log: EventLog = log
        self.reply: StreamOutput | None = reply
        # Total bytes sent on the stream.
        self.sent_bytes: int = 0
        # No more messages will be sent on the stream.
        self.finished: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a client is connected to the stream."""
        return self.reply is not None

    def prime(self) -> None:
        """Send an empty event, so that the client has an id to resume from."""
        # http.sse.prime (2025-11-25 basic/transports)
        if self.reply is not None:
            self.reply.raw(encode_sse(b"", id=self.log.append(b"")))

    def send(self, message: bytes, *, is_answer: bool = False) -> None:
        """Send a message, or keep it for the next connection."""
        self.sent_bytes += len(message)
        id = self.log.append(message)
        if self.reply is not None:
            self.reply.event(message, id=id, is_answer=is_answer)

    def move_to(self, reply: StreamOutput, last_event_id: bytes) -> bool:
        """Continue on another connection after an event; False if the event id is unknown."""
        missed = self.log.after(last_event_id)
        if missed is None:
            return False
        self.detach()
        self.reply = reply
        for id, message in missed:
            if message:
                # Never dropped: the log has them only once.
                reply.event(message, id=id, is_answer=True)
        return True

    def finish(self) -> None:
        """Send no more messages; the client can still fetch those that it has missed."""
        if not self.finished:
            self.finished = True
            self.log.complete()

    def detach(self, retry_ms: int | None = None) -> None:
        """Close the connection; the stream stays open."""
        if self.reply is not None:
            if retry_ms is not None:
                # http.sse.retry (2025-11-25 basic/transports): tell the client when to reconnect
                self.reply.raw(encode_sse(b"", retry=retry_ms))
            self.reply.stop()
            self.reply = None
