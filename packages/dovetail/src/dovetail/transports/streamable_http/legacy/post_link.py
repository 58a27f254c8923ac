"""The links of one legacy POST: its response becomes a stream if something is sent before it."""

from __future__ import annotations

from msgspec import Raw

from dovetail.core.link import ClientChannels, ClientSession, Link, Outgoing
from dovetail.errors import InvalidRequestError
from dovetail.runtime.link import NullLink
from dovetail.spec.models import InitializeParams
from dovetail.spec.revisions import Revision
from dovetail.transports.asgi.messages import JSON, Headers, respond
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.session import HttpSession
from dovetail.transports.streamable_http.legacy.streams import Stream
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Notification, Request, Response

__all__ = ["JsonPostLink", "PostLink", "SessionPostLink", "StatelessPostLink"]

_NO_STREAM = Raw(
    codec.encode(
        {
            "code": InvalidRequestError.code,
            "message": "its Accept header allows no text/event-stream, so nothing can be asked",
        }
    )
)


class PostLink(NullLink):
    """Base class of the links of a POST."""

    __slots__ = ("reply",)

    reply: Reply

    def send(self, message: Outgoing) -> None:
        """Send an event before the response; from any thread."""
        self.reply.on_loop(self._put, codec.encode_message(message))

    async def drain(self) -> None:
        """Wait for a slow client."""
        await self.reply.drain()

    @property
    def is_silent(self) -> bool:
        """Whether nothing has been sent, so that the response is not a stream."""
        return not self.reply.is_stream

    def stop(self) -> None:
        """Nothing more will be sent."""
        self.reply.stop()

    async def finish(
        self,
        responses: list[bytes],
        *,
        is_batch: bool = False,
        status: int = 200,
        headers: Headers = JSON,
    ) -> None:
        """Send the responses, on the stream if there is one, and end."""
        if not responses and self.is_silent:
            # http.post.notification-202, http.post.notification-empty; also for a cancelled
            # request: the specification forbids a JSON-RPC response, HTTP demands one
            await respond(self.reply.transmit, 202)
        elif self.is_silent:
            body = codec.encode_batch(responses) if is_batch else responses[0]
            await self.reply.finish(body, status, headers)
        else:
            for response in responses:
                self._put(response, is_answer=True)
            self.stop()
            await self.reply.written()

    def _put(self, message: bytes, *, is_answer: bool = False) -> None:
        self.reply.event(message, is_answer=is_answer)


class StatelessPostLink(PostLink):
    """Without a session: events before the response cannot be fetched again."""

    __slots__ = ("channels", "session")

    channels: ClientChannels
    session: ClientSession | None

    def __init__(
        self, session: ClientSession | None, reply: Reply, channels: ClientChannels
    ) -> None:
        self.session = session
        self.reply = reply
        self.channels = channels


class SessionPostLink(PostLink):
    """With a session: what is sent is kept for a while, so that the client can resume."""

    __slots__ = ("_message", "_primes", "_stream", "http_session")

    def __init__(
        self, session: HttpSession, reply: Reply, message: Request | Batch, *, primes: bool
    ) -> None:
        self.reply = reply
        self.http_session: HttpSession = session
        self._message = message
        self._primes = primes
        self._stream: Stream | None = None

    @property
    def session(self) -> ClientSession | None:
        """The legacy session."""
        return self.http_session.session

    def _put(self, message: bytes, *, is_answer: bool = False) -> None:
        self._open_stream(prime=self._primes).send(message, is_answer=is_answer)

    async def drain(self) -> None:
        """Wait for a slow client, or a slow store."""
        await super().drain()
        if self._stream is not None:
            await self._stream.drain()

    def _open_stream(self, *, prime: bool) -> Stream:
        if self._stream is None:
            self._stream = self.http_session.new_stream(self.reply, _ids_of(self._message))
            if prime:
                self._stream.prime()
        return self._stream

    @property
    def is_silent(self) -> bool:
        """Whether nothing has been sent, so that the response is not a stream."""
        return self._stream is None and not self.reply.is_stream

    def disconnect(self, retry_ms: int) -> None:
        """Close the connection and let the client fetch the rest; from any thread.

        Clients of revisions without priming events do not expect this and would lose the answer.
        """
        if self._primes:
            self.reply.on_loop(self._detach, retry_ms)

    def _detach(self, retry_ms: int) -> None:
        self._open_stream(prime=True).detach(retry_ms)

    def stop(self) -> None:
        """Nothing more will be sent, on whichever connection the stream is by now."""
        if self._stream is not None:
            self._stream.finish()
            self._stream.detach()
        else:
            self.reply.stop()

    def send_unrelated(self, message: Notification) -> None:
        """Send a notification that belongs to no request, on the stream of the last GET."""
        self.http_session.send_unrelated(message)

    def start_session(self, revision: Revision, params: InitializeParams) -> None:
        """Keep what `initialize` negotiated."""
        self.http_session.start_session(revision, params)

    def after_response(self) -> Link:
        """The session outlives the request."""
        return self.http_session


class JsonPostLink(SessionPostLink):
    """The client accepts no stream: what is sent before the response is lost."""

    __slots__ = ()

    def __init__(self, session: HttpSession, reply: Reply, message: Request | Batch) -> None:
        super().__init__(session, reply, message, primes=False)

    def send(self, message: Outgoing) -> None:
        """Drop a message; a request fails at once, because no answer can arrive."""
        if isinstance(message, Request):
            self.http_session.handler.resolve(Response(message.id, error=_NO_STREAM))

    @property
    def is_silent(self) -> bool:
        """Nothing is ever sent before the response."""
        return True


def _ids_of(message: Request | Batch) -> list[bytes]:
    """The ids of the requests in a message."""
    items = message.items if isinstance(message, Batch) else (message,)
    return [item.id for item in items if isinstance(item, Request)]
