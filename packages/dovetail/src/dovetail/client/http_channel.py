"""A channel to a server at a URL: Streamable HTTP, for both eras.

Every message is a separate POST, and every request has its own HTTP response: plain JSON, or an
event stream that ends with the JSON-RPC response. `send` lasts as long as the HTTP response, so
cancelling it closes the response; this is how a modern request is cancelled. Sessions, the GET
stream and resumable streams, which only legacy servers have, are in `http_session.py`. If a server
rejects `initialize` like a server older than Streamable HTTP, the channel falls back to HTTP+SSE
(`HttpSse`).

Error messages quote the body and headers of the response, because they explain the problem best.
Values of the user's own headers are masked, because some servers repeat the token they reject.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.client.channel import Channel, OnClosed, OnMessage, SessionEndedError, StreamLostError
from dovetail.client.http_auth import Auth, AuthorizedPool
from dovetail.client.http_headers import ToolHeaders, check_own_headers, mirror_request
from dovetail.client.http_session import EVENT_STREAM, ClientHttpSession, Cursor, read_events
from dovetail.errors import (
    AccessDeniedError,
    HeaderMismatchError,
    MethodNotFoundError,
    MissingCapabilityError,
    PeerError,
    RpcError,
    TransportError,
    UnsupportedVersionError,
)
from dovetail.net.addresses import Endpoint, parse_url
from dovetail.net.background import BackgroundTasks
from dovetail.net.http_connection import ClientResponse, Headers
from dovetail.net.http_pool import HttpPool
from dovetail.runtime.deadlines import time_limit
from dovetail.wire import codec
from dovetail.wire.framing import SseBuffer
from dovetail.wire.messages import Batch, Malformed, Notification, Request, Response

__all__ = ["HttpChannel", "HttpFailure", "HttpSse", "ResponseReader", "find_secrets"]

# Longer error bodies are not read.
_MAX_BODY = 64 * 1024
# Characters of a body, and of a URL, that are quoted in an error message.
_SHOWN_BODY = 300
_SHOWN_URL = 200
# Shorter words are not secrets; masking `Bearer` or `1` would make messages unreadable.
_SHORTEST_SECRET = 8

_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)

# How HTTP+SSE servers reject a POST to the URL of their stream.
_SSE_STATUSES = (400, 404, 405)
# JSON-RPC errors that modern servers send with the same statuses.
_MODERN_CODES = (
    HeaderMismatchError.code,
    MissingCapabilityError.code,
    UnsupportedVersionError.code,
    MethodNotFoundError.code,
)


class _Code(Struct):
    code: int


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """A response with an error status."""

    where: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    secrets: tuple[str, ...] = ()

    @classmethod
    async def read(cls, response: ClientResponse, secrets: tuple[str, ...]) -> HttpFailure:
        """Read the body of an error response."""
        where, reason = str(response.endpoint), response.reason
        body = await response.read(_MAX_BODY)
        # A compressed body is ignored; the request did not allow it.
        body = b"" if response.coding else body
        hidden = (*secrets, *response.secrets)
        return cls(where, response.status, reason, response.headers, body, hidden)

    @property
    def is_denial(self) -> bool:
        """Whether the server denied access (401 or 403)."""
        return self.status in (401, 403)

    @property
    def may_be_http_sse(self) -> bool:
        """Whether the server may support HTTP+SSE only."""
        # http.compat.old-sse (2026-07-28 basic/transports/streamable-http): three statuses,
        # unless the body has an error code that only newer servers send.
        return self.status in _SSE_STATUSES and self._read_code() not in _MODERN_CODES

    def _read_code(self) -> int | None:
        incoming = codec.decode(self.body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return None
        try:
            return codec.decode_as(_Code, incoming.error).code
        except msgspec.ValidationError:
            return None

    def to_error(self, what: str, hint: str = "") -> TransportError | PeerError:
        """The exception to raise for the message `what`."""
        if self.is_denial:
            challenge = self.headers.get("www-authenticate")
            quoted = f"; WWW-Authenticate: {self._hide(challenge)}" if challenge else ""
            return AccessDeniedError(
                f"{self.where} denies access: {self.reason}{quoted}{self._excerpt()}"
            )
        text = f"{self.where} answered {what} with {self.reason}"
        location = self.headers.get("location")
        if location is not None and 300 <= self.status < 400:
            # Without the query, which is often copied from the user's URL and may contain a key.
            place = self._hide(location.partition("?")[0])
            return PeerError(f"{text}; it has moved: use {place}")
        text += self._excerpt() + hint
        return TransportError(text) if self.status >= 500 else PeerError(text)

    def _excerpt(self) -> str:
        text = self.body.decode(errors="replace")
        if self.headers.get("content-type", "").lower().startswith("text/html"):
            text = _MARKUP.sub(" ", text)
        text = " ".join(self._hide(text).split())
        if not text:
            return ""
        return f": {text[:_SHOWN_BODY]}{'...' if len(text) > _SHOWN_BODY else ''}"

    def _hide(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def find_secrets(own_headers: Headers) -> tuple[str, ...]:
    """The words in the user's headers that messages must not show, longest first."""
    words: Iterable[str] = {word for _, value in own_headers for word in value.split()}
    return tuple(sorted((w for w in words if len(w) >= _SHORTEST_SECRET), key=len, reverse=True))


# An HTTP+SSE server sends the endpoint event immediately; the GET stream of a Streamable HTTP
# server may stay silent.
_ENDPOINT_SECONDS = 5.0


class HttpSse:
    """The event stream of one client, and its URL for messages."""

    def __init__(self, pool: HttpPool, own_headers: Headers, limit: int) -> None:
        self._pool = pool
        self._own_headers = own_headers
        self._secrets = find_secrets(own_headers)
        self._limit = limit
        self._reading = BackgroundTasks()
        self._post_endpoint: Endpoint | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> bool:
        """Open the stream; False if the server does not support HTTP+SSE.

        Raises PeerError if the server names a URL of another origin.
        """
        found: asyncio.Future[Endpoint | None] = asyncio.get_running_loop().create_future()
        self._reading.start(self._read(found, on_message, on_closed))
        try:
            async with asyncio.timeout(_ENDPOINT_SECONDS):
                self._post_endpoint = await found
        except TimeoutError:
            pass
        finally:
            if self._post_endpoint is None:
                await self.close()
        return self._post_endpoint is not None

    async def send(self, data: bytes, what: str) -> None:
        """Post one message; its response arrives on the stream."""
        headers = [("Content-Type", "application/json"), *self._own_headers]
        async with self._pool.exchange("POST", headers, data, at=self._post_endpoint) as response:
            # The specification says 202; some servers send 200 or 204.
            if not 200 <= response.status < 300:
                raise (await HttpFailure.read(response, self._secrets)).to_error(what)

    async def close(self) -> None:
        """Close the stream, which tells the server that the client has left."""
        await self._reading.close()

    async def _read(
        self, found: asyncio.Future[Endpoint | None], on_message: OnMessage, on_closed: OnClosed
    ) -> None:
        why = "the server closed it"
        headers = [("Accept", EVENT_STREAM), *self._own_headers]
        try:
            async with self._pool.exchange("GET", headers) as response:
                is_stream = response.content_type == EVENT_STREAM and not response.coding
                if response.status == 200 and is_stream:
                    await self._take_events(response, found, on_message)
        except (TransportError, PeerError) as error:
            why = str(error)
        if not found.done():
            found.set_result(None)
        elif not found.cancelled() and found.exception() is None:
            where = self._pool.endpoint
            text = f"The event stream from {where} ended: {why}"
            on_closed(StreamLostError(text, carries_responses=True))

    async def _take_events(
        self,
        response: ClientResponse,
        found: asyncio.Future[Endpoint | None],
        on_message: OnMessage,
    ) -> None:
        buffer = SseBuffer(self._limit)
        async for chunk in response.chunks():
            for event in buffer.feed(chunk):
                if found.done():
                    if event.event == b"message":
                        on_message(event.data)
                # sse.endpoint-event (2024-11-05 basic/transports): the first event on the stream
                elif event.event == b"endpoint":
                    _resolve_endpoint(found, response.endpoint, event.data)
                else:
                    return


def _resolve_endpoint(
    found: asyncio.Future[Endpoint | None], stream: Endpoint, reference: bytes
) -> None:
    text = reference.decode(errors="replace").strip()
    endpoint = stream.resolve(text)
    if endpoint is not None:
        found.set_result(endpoint)
        return
    # Without the query, which may contain a session secret.
    shown = text.partition("?")[0][:_SHOWN_URL]
    found.set_exception(
        PeerError(
            f"{stream} names {shown!r} as the URL for messages; "
            f"allowed: a URL of the same origin, {stream.origin}"
        )
    )


class _WireError(Struct):
    code: int
    message: str
    data: object = None


class ResponseReader:
    """Delivers the messages of a response and notes when the request is answered."""

    def __init__(
        self,
        request: Request,
        session: ClientHttpSession | None,
        tools: ToolHeaders,
        deliver: OnMessage,
    ) -> None:
        self.request = request
        # None for a modern request.
        self.session = session
        self.is_answered: bool = False
        # Set when the server may support another transport.
        self.refusal: HttpFailure | None = None
        self._tools = tools
        self._deliver = deliver

    def read_head(self, response: ClientResponse) -> None:
        """Take the session id from the response to initialize."""
        if self.session is not None and self.request.method == "initialize":
            self.session.assign(response.headers.get("mcp-session-id"))

    def take(self, data: bytes) -> bool:
        """Deliver one message; returns whether the request is answered."""
        incoming, received = codec.decode(data), data
        for item in incoming.items if isinstance(incoming, Batch) else (incoming,):
            if isinstance(item, Response) and item.id == self.request.id:
                self.is_answered = True
                data = self._inspect_result(item, data)
            elif isinstance(item, Response) and item.id is None and item.error is not None:
                self.is_answered = True
                data = self._add_id(item)
            elif isinstance(item, Malformed) and item.id == self.request.id:
                self.is_answered = True
        self._deliver(data, incoming if data is received else None)
        return self.is_answered

    def _inspect_result(self, answer: Response, data: bytes) -> bytes:
        """Take what HTTP needs from a result; returns the message to deliver."""
        if answer.result is None:
            return data
        if self.request.method == "initialize" and self.session is not None:
            self.session.agree(answer.result)
        elif self.request.method == "tools/list" and self.session is None:
            valid = self._tools.learn(answer.result)
            if valid is not None:
                return codec.encode_result(self.request.id, valid)
        return data

    def take_error(self, body: bytes) -> bool:
        """Deliver the body of an error response if it is a JSON-RPC error."""
        incoming = codec.decode(body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return False
        self.is_answered = True
        self._deliver(self._add_id(incoming))
        return True

    def _add_id(self, response: Response) -> bytes:
        """Add the request's id to an error without an id in its HTTP response."""
        assert response.error is not None
        try:
            error = codec.decode_as(_WireError, response.error)
        except msgspec.ValidationError as problem:
            text = f"The error response to {self.request.method} is not valid JSON-RPC: {problem}"
            raise PeerError(text) from None
        known = RpcError.from_wire(error.code, error.message, error.data)
        return codec.encode_error(self.request.id, known)


logger: logging.Logger = logging.getLogger("dovetail")

# The same as on stdio: a screenshot in base64 is a few MiB; more than this is an error.
_MAX_MESSAGE = 64 * 1024 * 1024
# Notifications and responses have no timeout set by the caller.
_NOTICE_SECONDS = 30.0

_ACCEPT = ("Accept", "application/json, text/event-stream")
_CONTENT = ("Content-Type", "application/json")
_JSON = "application/json"


class HttpChannel(Channel):
    """One POST per message."""

    transport = "http"
    waits_for_response = True

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        auth: Auth | None = None,
        limit: int = _MAX_MESSAGE,
    ) -> None:
        self._endpoint = parse_url(url)
        self.address: tuple[str, int] | None = (self._endpoint.host, self._endpoint.port)
        self._own_headers = [
            # Compression is not supported; some servers compress unless a header says not to.
            ("Accept-Encoding", "identity"),
            *check_own_headers(headers or {}),
        ]
        self._secrets = find_secrets(self._own_headers)
        self._limit = limit
        self._pool = (
            HttpPool(self._endpoint) if auth is None else AuthorizedPool(self._endpoint, auth)
        )
        self._tools = ToolHeaders()
        self._session: ClientHttpSession | None = None
        self._sse: HttpSse | None = None
        self._is_sse_lost = False
        self._on_message: OnMessage = _drop
        self._on_closed: OnClosed = _drop
        self._closed = False

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Store the callbacks; the first message connects."""
        self._on_message = on_message
        self._on_closed = on_closed

    async def send(self, data: bytes) -> None:
        """Post one message and deliver the messages in its response."""
        if self._closed:
            raise TransportError("The connection to the server is closed")
        message = codec.decode(data)
        if isinstance(message, Request):
            params = None if message.params is None else codec.decode_json(message.params)
            await self.send_request(message, params)
        elif isinstance(message, Notification) and message.method != "notifications/cancelled":
            await self._send_notice(message, data)
        elif self._session is not None or self._sse is not None:
            await self._try_send_notice(data)
        # Otherwise it cancels a modern request. Its HTTP response is already closed, and no
        # message is sent (2026-07-28 basic/transports/streamable-http, cancellation).

    async def send_request(self, request: Request, params: Mapping[str, Any] | None) -> None:
        """Post a request and deliver the messages in its response."""
        if self._closed:
            raise TransportError("The connection to the server is closed")
        data = codec.encode_message(request)
        if self._sse is not None:
            await self._sse.send(data, request.method)
        else:
            await self._send_request(request, data, params)

    async def close(self) -> None:
        """End the session, if there is one, and close every connection."""
        if self._closed:
            return
        self._closed = True
        if self._session is not None:
            await self._session.close()
        if self._sse is not None:
            await self._sse.close()
        await self._pool.close()

    # -- requests -----------------------------------------------------------------------------

    async def _send_request(
        self, request: Request, data: bytes, params: Mapping[str, Any] | None
    ) -> None:
        if self._is_sse_lost and request.method != "initialize":
            raise SessionEndedError(
                f"The event stream of {self._endpoint}, and so the session, ended"
            )
        mirrored = mirror_request(request.method, params, self._tools)
        session = self._find_session(request) if mirrored is None else None
        own = session.headers() if session is not None else mirrored or []
        headers = [_ACCEPT, _CONTENT, *self._own_headers, *own]
        cursor = Cursor(self._limit)
        reader = ResponseReader(request, session, self._tools, self._on_message)
        is_broken = False
        try:
            async with self._pool.exchange("POST", headers, data) as response:
                await self._read_response(reader, response, cursor)
        except SessionEndedError:
            raise
        except TransportError:
            # A stream can be resumed only after an event id, and only in a session.
            if reader.is_answered or session is None or not cursor.can_resume:
                raise
            is_broken = True
        if reader.refusal is not None:
            await self._fall_back(reader, reader.refusal, data)
        elif not reader.is_answered and session is not None:
            await session.resume(cursor, reader.take, request.method, is_broken=is_broken)
        if request.method == "initialize" and session is not None:
            await self._adopt_session(session)
        elif session is not None and session.is_stream_lost:
            session.start_listening(self._on_message, self._on_closed)

    async def _read_response(
        self, reader: ResponseReader, response: ClientResponse, cursor: Cursor
    ) -> None:
        method, kind = reader.request.method, response.content_type
        if response.status != 200:
            await self._handle_error_status(response, reader)
        elif response.coding:
            text = f"{self._endpoint} compressed its response to {method} with {response.coding}"
            raise PeerError(f"{text}; the request allowed only identity")
        elif kind == EVENT_STREAM:
            reader.read_head(response)
            await read_events(response, cursor, reader.take)
            is_over = reader.session is None or not cursor.can_resume
            if not reader.is_answered and is_over:
                raise TransportError(
                    f"The stream from {self._endpoint} ended before {method} was answered"
                )
        elif kind == _JSON:
            reader.read_head(response)
            if not reader.take(await response.read(self._limit)):
                text = f"{self._endpoint} answered {method} with JSON that is not a response to it"
                raise PeerError(text)
        else:
            text = f"{self._endpoint} answered {method} with {kind or 'no Content-Type'}"
            raise PeerError(f"{text}; expected {_JSON} or {EVENT_STREAM}")

    async def _handle_error_status(self, response: ClientResponse, reader: ResponseReader) -> None:
        """Deliver the JSON-RPC error in the body, or raise an error for the status."""
        request = reader.request
        if response.status == 404 and reader.session is not None and reader.session.id:
            raise SessionEndedError(f"{self._endpoint} has ended the session (404)")
        refusal = await HttpFailure.read(response, self._secrets)
        is_first = reader.session is not None and self._session is None
        if is_first and request.method == "initialize" and refusal.may_be_http_sse:
            reader.refusal = refusal
        elif refusal.is_denial or not reader.take_error(refusal.body):
            raise refusal.to_error(request.method)

    async def _fall_back(self, reader: ResponseReader, refusal: HttpFailure, data: bytes) -> None:
        """Try HTTP+SSE, the transport before Streamable HTTP."""
        sse = HttpSse(self._pool, self._own_headers, self._limit)
        method = reader.request.method
        if await sse.open(self._on_message, self._lose_sse):
            self._sse = sse
            self._is_sse_lost = False
            await sse.send(data, method)
        elif not reader.take_error(refusal.body):
            raise refusal.to_error(method, "; it does not support HTTP+SSE either")

    def _lose_sse(self, error: TransportError) -> None:
        # The next request starts a new session, with a new stream.
        self._sse = None
        self._is_sse_lost = True
        self._on_closed(error)

    # -- notifications and responses ----------------------------------------------------------

    async def _send_notice(self, message: Notification | None, data: bytes) -> None:
        what = "a response" if message is None else message.method
        try:
            with time_limit(_NOTICE_SECONDS):
                if self._sse is not None:
                    await self._sse.send(data, what)
                else:
                    await self._post_notice(what, data)
        except TimeoutError:
            text = f"{self._endpoint} did not accept {what} within {_NOTICE_SECONDS:g} s"
            raise TransportError(text) from None
        is_ready = message is not None and message.method == "notifications/initialized"
        if is_ready and self._session is not None:
            await self._session.listen(self._on_message, self._on_closed)

    async def _post_notice(self, what: str, data: bytes) -> None:
        own = [] if self._session is None else self._session.headers()
        headers = [_ACCEPT, _CONTENT, *self._own_headers, *own]
        async with self._pool.exchange("POST", headers, data) as response:
            # The specification says 202; some servers send 200 or 204.
            if not 200 <= response.status < 300:
                raise (await HttpFailure.read(response, self._secrets)).to_error(what)

    async def _try_send_notice(self, data: bytes) -> None:
        """Send a message; a failure is logged, because it does not affect other requests."""
        try:
            await self._send_notice(None, data)
        except (TransportError, PeerError) as error:
            logger.warning("could not deliver a message to the server: %s", error)

    # -- the session of a legacy server -------------------------------------------------------

    def _find_session(self, request: Request) -> ClientHttpSession:
        """The session of a request; `initialize` gets a new one, used once it is answered."""
        if self._session is None or request.method == "initialize":
            return ClientHttpSession(self._pool, self._own_headers, self._limit)
        return self._session

    async def _adopt_session(self, session: ClientHttpSession) -> None:
        if session.is_agreed:
            previous, self._session = self._session, session
            if previous is not None:
                await previous.stop_listening()


def _drop(*_: object) -> None:
    """Ignore what arrives before the channel is open."""
