"""A stream of events that outlives its connection: the client can resume it."""

from __future__ import annotations

from dovetail.stores.events import EventLog
from dovetail.transports.asgi.reply import Reply
from dovetail.wire.framing import encode_sse

__all__ = ["Stream"]


class Stream:
    """One stream of events: a log, and the connection that carries it at the moment, if any."""

    __slots__ = ("finished", "log", "reply", "said")

    def __init__(self, log: EventLog, reply: Reply) -> None:
        self.log = log
        self.reply: Reply | None = reply
        # Bytes of all that was ever said on it.
        self.said = 0
        # Everything that will ever be on the stream has been said.
        self.finished = False

    @property
    def is_open(self) -> bool:
        """Whether a connection carries it now."""
        return self.reply is not None

    def prime(self) -> None:
        """Give the client an id to come back with before there is anything to say."""
        # http.sse.prime (2025-11-25 basic/transports)
        if self.reply is not None:
            self.reply.raw(encode_sse(b"", id=self.log.append(b"")))

    def send(self, message: bytes, *, is_answer: bool = False) -> None:
        """Say something on the stream, or keep it for the next connection."""
        self.said += len(message)
        id = self.log.append(message)
        if self.reply is not None:
            self.reply.event(message, id=id, is_answer=is_answer)

    def move_to(self, reply: Reply, last_event_id: bytes) -> bool:
        """Go on with another connection, from after an event; False if that is not known."""
        missed = self.log.after(last_event_id)
        if missed is None:
            return False
        self.detach()
        self.reply = reply
        for id, message in missed:
            if message:
                reply.raw(encode_sse(message, event=b"message", id=id))
        return True

    def detach(self, retry_ms: int | None = None) -> None:
        """Let go of the connection; the stream itself goes on."""
        if self.reply is not None:
            if retry_ms is not None:
                # http.sse.retry (2025-11-25 basic/transports): say when to come back
                self.reply.raw(encode_sse(b"", retry=retry_ms))
            self.reply.stop()
            self.reply = None
