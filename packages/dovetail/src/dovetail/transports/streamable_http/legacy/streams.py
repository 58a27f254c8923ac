"""Streams of events that outlive their connections, and what one POST says on its own.

Nothing here knows sessions as such: whoever keeps streams hands out new ones.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from dovetail.errors import InvalidRequestError
from dovetail.stores.events import EventLog
from dovetail.transports.streamable_http.reply import Reply
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse
from dovetail.wire.messages import Request, Response

__all__ = ["AnswerOnlyOutbox", "CallOutbox", "Stream"]

_NO_STREAM = Raw(
    codec.encode(
        {
            "code": InvalidRequestError.code,
            "message": "its Accept header allows no text/event-stream, so nothing can be asked",
        }
    )
)


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


class CallOutbox:
    """The outbox of one POST: opens a stream when its handler speaks before it answers."""

    __slots__ = ("_new_stream", "_primes", "_reply", "stream")

    def __init__(
        self, new_stream: Callable[[Reply], Stream] | None, reply: Reply, *, primes: bool
    ) -> None:
        """Without `new_stream` nothing that is said can be fetched later."""
        self._new_stream = new_stream
        self._reply = reply
        self._primes = primes
        self.stream: Stream | None = None

    def send(self, message: bytes) -> None:
        """Say something before the answer; from any thread."""
        self._reply.on_loop(self._say, message)

    def _say(self, message: bytes, *, is_answer: bool = False) -> None:
        if self._new_stream is None:
            self._reply.event(message, is_answer=is_answer)
            return
        if self.stream is None:
            self.stream = self._new_stream(self._reply)
            if self._primes:
                self.stream.prime()
        self.stream.send(message, is_answer=is_answer)

    @property
    def is_silent(self) -> bool:
        """Whether nothing has been said, so that the answer is all there is."""
        return self.stream is None and not self._reply.is_stream

    async def drain(self) -> None:
        """Let a slow reader catch up."""
        await self._reply.drain()

    def disconnect(self, retry_ms: int) -> None:
        """Close the connection and let the client come back for the rest; from any thread.

        Clients of revisions without priming events do not expect this and would lose the answer.
        """
        if self._new_stream is None or not self._primes:
            return
        self._reply.on_loop(self._let_go, self._new_stream, retry_ms)

    def _let_go(self, new_stream: Callable[[Reply], Stream], retry_ms: int) -> None:
        if self.stream is None:
            self.stream = new_stream(self._reply)
            self.stream.prime()
        self.stream.detach(retry_ms)

    async def finish(self, answers: list[bytes], *, is_batch: bool) -> None:
        """Answer, on the stream if there is one."""
        if self.is_silent:
            await self._reply.finish(codec.encode_batch(answers) if is_batch else answers[0])
            return
        for answer in answers:
            self._say(answer, is_answer=True)
        self.stop()
        await self._reply.end()

    def stop(self) -> None:
        """Nothing more will be said, on whichever connection the stream is by now."""
        if self.stream is not None:
            self.stream.finished = True
            self.stream.detach()
        self._reply.stop()


class AnswerOnlyOutbox(CallOutbox):
    """The outbox of a POST whose client takes no stream: what comes before the answer is lost."""

    __slots__ = ("_resolve",)

    def __init__(self, reply: Reply, resolve: Callable[[Response], bool] | None) -> None:
        """`resolve` takes the answer to a question that never reaches the client."""
        super().__init__(None, reply, primes=False)
        self._resolve = resolve

    def send(self, message: bytes) -> None:
        """Drop a message; a question is refused in the client's name, or it would wait in vain."""
        asked = codec.decode(message)
        if isinstance(asked, Request) and self._resolve is not None:
            self._resolve(Response(asked.id, error=_NO_STREAM))
