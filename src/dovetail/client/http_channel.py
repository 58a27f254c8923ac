"""A channel to a server behind a URL: Streamable HTTP, as both eras use it.

Every message is a POST of its own, and every request has its own response: plain JSON, or a
stream of events that ends with the answer. `send` lasts as long as that response, so whoever
stops waiting closes it, which is how a modern request is cancelled. What only legacy servers
have (sessions, the GET stream, streams that can be picked up again) is in `http_session.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from dovetail.client.channel import (
    Channel,
    OnClosed,
    OnMessage,
    SessionEndedError,
    UnreachableError,
)
from dovetail.client.http_connection import HttpPool, HttpResponse, parse_url
from dovetail.client.http_headers import (
    ToolHeaders,
    check_own_headers,
    find_version,
    mirror_request,
)
from dovetail.client.http_session import HttpSession
from dovetail.client.http_stream import EVENT_STREAM, Cursor, read_events
from dovetail.errors import PeerError, RpcError, TransportError
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Notification, Request, Response

__all__ = ["HttpChannel"]

logger = logging.getLogger("dovetail")

# The same as on stdio: a screenshot in base64 is a few MiB, this is a runaway.
_MAX_MESSAGE = 64 * 1024 * 1024
# An explanation of a failure; longer ones explain nothing.
_MAX_EXPLANATION = 64 * 1024
# Messages that nobody waits for have no timeout of their own.
_NOTICE_SECONDS = 30.0
# More cannot be read from a message on a terminal.
_SHOWN = 300

_ACCEPT = ("Accept", "application/json, text/event-stream")
_CONTENT = ("Content-Type", "application/json")
_JSON = "application/json"


class _WireError(Struct):
    code: int
    message: str
    data: object = None


class HttpChannel(Channel):
    """One POST per message."""

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, *, limit: int = _MAX_MESSAGE
    ) -> None:
        self._endpoint = parse_url(url)
        self._own_headers = [
            # Nothing here unpacks; some servers compress unless they are told not to.
            ("Accept-Encoding", "identity"),
            *check_own_headers(headers or {}),
        ]
        self._limit = limit
        self._pool = HttpPool(self._endpoint)
        self._tools = ToolHeaders()
        self._session: HttpSession | None = None
        self._on_message: OnMessage = _drop
        self._on_closed: OnClosed = _drop
        self._closed = False

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Nothing to reach yet: the first message connects."""
        self._on_message = on_message
        self._on_closed = on_closed

    async def send(self, data: bytes) -> None:
        """Post one message, and deliver all that its response says."""
        if self._closed:
            raise TransportError("The connection to the server is closed")
        message = codec.decode(data)
        if isinstance(message, Request):
            await self._ask(message, data)
        elif isinstance(message, Notification) and message.method != "notifications/cancelled":
            await self._tell(message, data)
        elif self._session is not None:
            await self._tell_if_possible(data)
        # Else it takes back a modern request, whose response is closed by now, and no more than
        # that is to be said (2026-07-28 basic/transports/streamable-http, cancellation).

    async def close(self) -> None:
        """End the session if there is one, and every connection."""
        if self._closed:
            return
        self._closed = True
        if self._session is not None:
            await self._session.close()
        await self._pool.close()

    # -- requests -----------------------------------------------------------------------------

    async def _ask(self, request: Request, data: bytes) -> None:
        version = find_version(request)
        if version is not None:
            session = None
            headers = mirror_request(request, version, self._tools)
        else:
            session = self._find_session(request)
            headers = session.headers()
        headers = [_ACCEPT, _CONTENT, *self._own_headers, *headers]
        cursor = Cursor(self._limit)
        reading = _Reading(self, request, session)
        try:
            async with self._pool.exchange("POST", headers, data) as response:
                await self._read_answer(reading, response, cursor)
        except SessionEndedError:
            raise
        except TransportError:
            # Only what has an id can be asked for again, and only a session keeps it.
            if reading.is_answered or session is None or not cursor.can_resume:
                raise
        if not reading.is_answered and session is not None:
            await session.resume(cursor, reading.take, request.method)
        if request.method == "initialize" and session is not None:
            await self._take_session(session)

    async def _read_answer(self, reading: _Reading, response: HttpResponse, cursor: Cursor) -> None:
        method = reading.request.method
        if response.status != 200:
            await self._refused(response, reading)
        elif response.content_type == EVENT_STREAM:
            reading.note_head(response)
            await read_events(response, cursor, reading.take)
            is_over = reading.session is None or not cursor.can_resume
            if not reading.is_answered and is_over:
                raise TransportError(
                    f"The stream from {self._endpoint} ended before {method} was answered"
                )
        elif response.content_type == _JSON:
            reading.note_head(response)
            if not reading.take(await response.read(self._limit)):
                text = f"{self._endpoint} answered {method} with JSON that is no answer to it"
                raise PeerError(text)
        else:
            kind = response.content_type or "nothing"
            raise PeerError(
                f"{self._endpoint} answered {method} with {kind}; allowed: {_JSON}, {EVENT_STREAM}"
            )

    async def _refused(self, response: HttpResponse, reading: _Reading) -> None:
        """A request that was not served: the error in the body, or the status, says why."""
        method = reading.request.method
        if response.status == 404 and reading.session is not None and reading.session.id:
            raise SessionEndedError(f"{self._endpoint} has ended the session (404)")
        body = await response.read(_MAX_EXPLANATION)
        self._check_access(response, body)
        if reading.take_error(body):
            return
        raise _status_error(f"{self._endpoint} answered {method} with", response, body)

    def _check_access(self, response: HttpResponse, body: bytes) -> None:
        if response.status not in (401, 403):
            return
        text = f"{self._endpoint} refuses access: {response.reason}"
        challenge = response.headers.get("www-authenticate")
        if challenge:
            text += f"; WWW-Authenticate: {challenge}"
        raise UnreachableError(text + _excerpt(body))

    # -- notifications and responses ----------------------------------------------------------

    async def _tell(self, message: Notification | None, data: bytes) -> None:
        own = [] if self._session is None else self._session.headers()
        headers = [_ACCEPT, _CONTENT, *self._own_headers, *own]
        what = "a response" if message is None else message.method
        try:
            async with (
                asyncio.timeout(_NOTICE_SECONDS),
                self._pool.exchange("POST", headers, data) as response,
            ):
                # 202 by the book; others say 200 or 204 and mean the same.
                if not 200 <= response.status < 300:
                    body = await response.read(_MAX_EXPLANATION)
                    self._check_access(response, body)
                    raise _status_error(f"{self._endpoint} answered {what} with", response, body)
        except TimeoutError:
            text = f"{self._endpoint} did not take {what} within {_NOTICE_SECONDS:g} s"
            raise TransportError(text) from None
        is_ready = message is not None and message.method == "notifications/initialized"
        if is_ready and self._session is not None:
            await self._session.listen(self._on_message, self._on_closed)

    async def _tell_if_possible(self, data: bytes) -> None:
        """Requests stand on their own here: one message that is lost does not end the rest."""
        try:
            await self._tell(None, data)
        except (TransportError, PeerError) as error:
            logger.warning("a message to the server was lost: %s", error)

    # -- the session of a legacy server -------------------------------------------------------

    def _find_session(self, request: Request) -> HttpSession:
        """The session of a request; the one of initialize counts once that is answered."""
        if self._session is None or request.method == "initialize":
            return HttpSession(self._pool, self._own_headers, self._limit)
        return self._session

    async def _take_session(self, session: HttpSession) -> None:
        if session.is_agreed:
            previous, self._session = self._session, session
            if previous is not None:
                await previous.stop_listening()

    def learn_tools(self, page: Raw) -> bytes | None:
        """See which arguments go into headers; what to hand out in place of the page."""
        return self._tools.learn(page)

    def deliver(self, data: bytes) -> None:
        """Hand a message to the client."""
        self._on_message(data)


class _Reading:
    """The response to one request, message by message."""

    def __init__(self, channel: HttpChannel, request: Request, session: HttpSession | None) -> None:
        self.request = request
        # None for a modern request.
        self.session = session
        self.is_answered = False
        self._channel = channel

    def note_head(self, response: HttpResponse) -> None:
        """The head of the answer to initialize names the session."""
        if self.session is not None and self.request.method == "initialize":
            self.session.assign(response.headers.get("mcp-session-id"))

    def take(self, data: bytes) -> bool:
        """Deliver one message; whether the request is answered now."""
        incoming = codec.decode(data)
        for item in incoming.items if isinstance(incoming, Batch) else (incoming,):
            if isinstance(item, Response) and item.id == self.request.id:
                self.is_answered = True
                data = self._note_answer(item, data)
            elif isinstance(item, Response) and item.id is None and item.error is not None:
                self.is_answered = True
                data = self._address(item)
            elif isinstance(item, Malformed) and item.id == self.request.id:
                self.is_answered = True
        self._channel.deliver(data)
        return self.is_answered

    def _note_answer(self, answer: Response, data: bytes) -> bytes:
        """Look at an answer that concerns HTTP itself; what to hand out of it."""
        if answer.result is None:
            return data
        if self.request.method == "initialize" and self.session is not None:
            self.session.agree(answer.result)
        elif self.request.method == "tools/list" and self.session is None:
            valid = self._channel.learn_tools(answer.result)
            if valid is not None:
                return codec.encode_result(self.request.id, valid)
        return data

    def take_error(self, body: bytes) -> bool:
        """Deliver the body of a refusal if it is a JSON-RPC error."""
        incoming = codec.decode(body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return False
        self.is_answered = True
        self._channel.deliver(self._address(incoming))
        return True

    def _address(self, response: Response) -> bytes:
        """An error that names no request, on the response to this one: it is about this one."""
        assert response.error is not None
        try:
            error = codec.decode_as(_WireError, response.error)
        except msgspec.ValidationError as problem:
            text = f"The error that answers {self.request.method} does not fit JSON-RPC: {problem}"
            raise PeerError(text) from None
        known = RpcError.from_wire(error.code, error.message, error.data)
        return codec.encode_error(self.request.id, known)


def _status_error(text: str, response: HttpResponse, body: bytes) -> TransportError | PeerError:
    text = f"{text} {response.reason}"
    location = response.headers.get("location")
    if location is not None and 300 <= response.status < 400:
        return PeerError(f"{text}; it has moved to {location}: use that URL")
    text += _excerpt(body)
    return TransportError(text) if response.status >= 500 else PeerError(text)


def _excerpt(body: bytes) -> str:
    text = " ".join(body.decode(errors="replace").split())
    if not text:
        return ""
    return f": {text[:_SHOWN]}{'...' if len(text) > _SHOWN else ''}"


def _drop(_: object) -> None:
    """What comes before the channel is open has nobody to go to."""
