"""A channel to a server behind a URL: Streamable HTTP, as both eras use it.

Every message is a POST of its own, and every request has its own response: plain JSON, or a
stream of events that ends with the answer. `send` lasts as long as that response, so whoever
stops waiting closes it, which is how a modern request is cancelled. What only legacy servers
have (sessions, the GET stream, streams that can be picked up again) is in `http_session.py`.
A server that refuses the handshake as those before Streamable HTTP do is tried as one of them,
and then everything goes through `http_old_sse.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from dovetail.client.channel import Channel, OnClosed, OnMessage, SessionEndedError
from dovetail.client.http_connection import HttpResponse
from dovetail.client.http_endpoint import parse_url
from dovetail.client.http_failure import HttpFailure, find_secrets
from dovetail.client.http_headers import (
    ToolHeaders,
    check_own_headers,
    find_version,
    mirror_request,
)
from dovetail.client.http_old_sse import OldSse
from dovetail.client.http_pool import HttpPool
from dovetail.client.http_reading import Reading
from dovetail.client.http_session import ClientHttpSession
from dovetail.client.http_stream import EVENT_STREAM, Cursor, read_events
from dovetail.errors import PeerError, TransportError
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["HttpChannel"]

logger = logging.getLogger("dovetail")

# The same as on stdio: a screenshot in base64 is a few MiB, this is a runaway.
_MAX_MESSAGE = 64 * 1024 * 1024
# Messages that nobody waits for have no timeout of their own.
_NOTICE_SECONDS = 30.0

_ACCEPT = ("Accept", "application/json, text/event-stream")
_CONTENT = ("Content-Type", "application/json")
_JSON = "application/json"


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
        self._secrets = find_secrets(self._own_headers)
        self._limit = limit
        self._pool = HttpPool(self._endpoint)
        self._tools = ToolHeaders()
        self._session: ClientHttpSession | None = None
        self._old: OldSse | None = None
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
            if self._old is not None:
                await self._old.send(data, message.method)
            else:
                await self._ask(message, data)
        elif isinstance(message, Notification) and message.method != "notifications/cancelled":
            await self._tell(message, data)
        elif self._session is not None or self._old is not None:
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
        if self._old is not None:
            await self._old.close()
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
        reading = Reading(request, session, self._tools, self._on_message)
        try:
            async with self._pool.exchange("POST", headers, data) as response:
                await self._read_answer(reading, response, cursor)
        except SessionEndedError:
            raise
        except TransportError:
            # Only what has an id can be asked for again, and only a session keeps it.
            if reading.is_answered or session is None or not cursor.can_resume:
                raise
        if reading.refusal is not None:
            await self._fall_back(reading, reading.refusal, data)
        elif not reading.is_answered and session is not None:
            await session.resume(cursor, reading.take, request.method)
        if request.method == "initialize" and session is not None:
            await self._take_session(session)

    async def _read_answer(self, reading: Reading, response: HttpResponse, cursor: Cursor) -> None:
        method = reading.request.method
        if response.status != 200:
            await self._refused(response, reading)
        elif response.coding:
            text = f"{self._endpoint} packed its answer to {method} with {response.coding}"
            raise PeerError(f"{text}; allowed: identity, as the request said")
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

    async def _refused(self, response: HttpResponse, reading: Reading) -> None:
        """A request that was not served: the error in the body, or the status, says why."""
        request = reading.request
        if response.status == 404 and reading.session is not None and reading.session.id:
            raise SessionEndedError(f"{self._endpoint} has ended the session (404)")
        refusal = await HttpFailure.read(response, self._secrets)
        is_first = reading.session is not None and self._session is None
        if is_first and request.method == "initialize" and refusal.may_be_old_sse:
            reading.refusal = refusal
        elif refusal.is_denial or not reading.take_error(refusal.body):
            raise refusal.to_error(request.method)

    async def _fall_back(self, reading: Reading, refusal: HttpFailure, data: bytes) -> None:
        """Try the transport that was there before Streamable HTTP."""
        old = OldSse(self._pool, self._own_headers, self._limit)
        method = reading.request.method
        if await old.open(self._on_message, self._on_closed):
            self._old = old
            await old.send(data, method)
        elif not reading.take_error(refusal.body):
            raise refusal.to_error(method, "; HTTP+SSE is not served there either")

    # -- notifications and responses ----------------------------------------------------------

    async def _tell(self, message: Notification | None, data: bytes) -> None:
        what = "a response" if message is None else message.method
        try:
            async with asyncio.timeout(_NOTICE_SECONDS):
                if self._old is not None:
                    await self._old.send(data, what)
                else:
                    await self._post_notice(what, data)
        except TimeoutError:
            text = f"{self._endpoint} did not take {what} within {_NOTICE_SECONDS:g} s"
            raise TransportError(text) from None
        is_ready = message is not None and message.method == "notifications/initialized"
        if is_ready and self._session is not None:
            await self._session.listen(self._on_message, self._on_closed)

    async def _post_notice(self, what: str, data: bytes) -> None:
        own = [] if self._session is None else self._session.headers()
        headers = [_ACCEPT, _CONTENT, *self._own_headers, *own]
        async with self._pool.exchange("POST", headers, data) as response:
            # 202 by the book; others say 200 or 204 and mean the same.
            if not 200 <= response.status < 300:
                raise (await HttpFailure.read(response, self._secrets)).to_error(what)

    async def _tell_if_possible(self, data: bytes) -> None:
        """Requests stand on their own here: one message that is lost does not end the rest."""
        try:
            await self._tell(None, data)
        except (TransportError, PeerError) as error:
            logger.warning("a message to the server was lost: %s", error)

    # -- the session of a legacy server -------------------------------------------------------

    def _find_session(self, request: Request) -> ClientHttpSession:
        """The session of a request; the one of initialize counts once that is answered."""
        if self._session is None or request.method == "initialize":
            return ClientHttpSession(self._pool, self._own_headers, self._limit)
        return self._session

    async def _take_session(self, session: ClientHttpSession) -> None:
        if session.is_agreed:
            previous, self._session = self._session, session
            if previous is not None:
                await previous.stop_listening()


def _drop(_: object) -> None:
    """What comes before the channel is open has nobody to go to."""
