"""A channel to a server at a URL: Streamable HTTP, for both eras.

Every message is a separate POST, and every request has its own HTTP response: plain JSON, or an
event stream that ends with the JSON-RPC response. `send` lasts as long as the HTTP response, so
cancelling it closes the response; this is how a modern request is cancelled. Sessions, the GET
stream and resumable streams, which only legacy servers have, are in `http_session.py`. If a server
rejects `initialize` like a server older than Streamable HTTP, the channel falls back to HTTP+SSE
(`http_sse.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from dovetail.client.channel import Channel, OnClosed, OnMessage, SessionEndedError
from dovetail.client.http_auth import Auth, AuthorizedPool
from dovetail.client.http_failure import HttpFailure, find_secrets
from dovetail.client.http_headers import ToolHeaders, check_own_headers, mirror_request
from dovetail.client.http_response import ResponseReader
from dovetail.client.http_session import ClientHttpSession
from dovetail.client.http_sse import HttpSse
from dovetail.client.http_stream import EVENT_STREAM, Cursor, read_events
from dovetail.client.time_limits import time_limit
from dovetail.errors import PeerError, TransportError
from dovetail.net.http_connection import ClientResponse
from dovetail.net.http_endpoint import parse_url
from dovetail.net.http_pool import HttpPool
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["HttpChannel"]

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
            # Compression is not supported; some servers compress unless told not to.
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
