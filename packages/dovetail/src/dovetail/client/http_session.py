"""Event streams, and the sessions of legacy servers.

The session starts with the response to initialize. Messages that the server sends on its own
initiative arrive on a GET stream, if the server offers one. A broken stream whose events have ids
is resumed with another GET that names the last id (2025-11-25 basic/transports).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw, Struct

from dovetail.client.channel import OnClosed, OnMessage, SessionEndedError, StreamLostError
from dovetail.errors import PeerError, TransportError, UnreachableError
from dovetail.net.background import BackgroundTasks
from dovetail.net.http_connection import ClientResponse, Headers
from dovetail.net.http_pool import HttpPool
from dovetail.wire import codec
from dovetail.wire.framing import SseBuffer

__all__ = ["EVENT_STREAM", "ClientHttpSession", "Cursor", "read_events"]

EVENT_STREAM = "text/event-stream"


class Cursor:
    """The position in an event stream, across reconnections."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.last_event_id = b""
        self.retry_ms: int | None = None
        # Events of any kind so far, to detect progress.
        self.events = 0

    @property
    def can_resume(self) -> bool:
        """Whether the last event has an id that can be sent as Last-Event-ID."""
        id = self.last_event_id
        return bool(id) and id.isascii() and id.decode().isprintable() and id == id.strip()


async def read_events(
    response: ClientResponse, cursor: Cursor, take: Callable[[bytes], bool]
) -> None:
    """Pass each message to `take` until it returns True or the stream ends."""
    buffer = SseBuffer(cursor.limit)
    async for chunk in response.chunks():
        for event in buffer.feed(chunk):
            cursor.events += 1
            cursor.last_event_id = event.id if event.id is not None else cursor.last_event_id
            # An event without data only sets the position.
            if event.data and event.event == b"message" and take(event.data):
                return
        if buffer.last_event_id:
            cursor.last_event_id = buffer.last_event_id
        if buffer.retry is not None:
            cursor.retry_ms = buffer.retry


logger: logging.Logger = logging.getLogger("dovetail")

# The delay of the official SDK if the server does not set one.
_RETRY_MS = 1000
# Attempts in a row without a new event.
_MAX_ATTEMPTS = 5
# A stream that was open for longer than this counts as working.
_STABLE_SECONDS = 5.0
# A server may delay the head of its stream until the first event.
_LISTEN_SECONDS = 1.0
# Ending the session is optional, so the client does not wait long.
_DELETE_SECONDS = 2.0


class _Agreed(Struct, rename="camel"):
    protocol_version: str


class ClientHttpSession:
    """The session that one initialize request creates."""

    def __init__(self, pool: HttpPool, own_headers: Headers, limit: int) -> None:
        self.id: str | None = None
        self._version: str | None = None
        self._pool = pool
        self._own_headers: Sequence[tuple[str, str]] = own_headers
        self._limit = limit
        self._listening = BackgroundTasks()
        self._has_stream = False
        # The server cannot be reached, so the GET stream ended.
        self.is_stream_lost: bool = False

    def assign(self, id: str | None) -> None:
        """Set the id from the response to initialize."""
        if id is not None and not all("!" <= character <= "~" for character in id):
            raise PeerError("The server sent an Mcp-Session-Id that is not visible ASCII")
        self.id = id or None

    def agree(self, result: Raw) -> None:
        """Set the version from the result of initialize."""
        # The caller of initialize reports an invalid result.
        with contextlib.suppress(msgspec.ValidationError):
            version = codec.decode_as(_Agreed, result).protocol_version
            self._version = version if version.isascii() and version.isprintable() else None

    @property
    def is_agreed(self) -> bool:
        """Whether initialize was answered with a version."""
        return self._version is not None

    def headers(self) -> list[tuple[str, str]]:
        """The session headers of a request."""
        headers = []
        if self._version is not None:
            headers.append(("MCP-Protocol-Version", self._version))
        if self.id is not None:
            headers.append(("Mcp-Session-Id", self.id))
        return headers

    # -- the GET stream -----------------------------------------------------------------------

    async def listen(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Open the GET stream, if the server has one, and wait briefly until it is open."""
        is_settled = self.start_listening(on_message, on_closed)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_SECONDS):
                await is_settled.wait()

    def start_listening(self, on_message: OnMessage, on_closed: OnClosed) -> asyncio.Event:
        """Open the GET stream; the event is set once it is open or known not to exist."""
        is_settled = asyncio.Event()
        self.is_stream_lost = False
        self._listening.start(self._listen(on_message, on_closed, is_settled))
        return is_settled

    async def _listen(
        self, on_message: OnMessage, on_closed: OnClosed, is_settled: asyncio.Event
    ) -> None:
        def take(data: bytes) -> bool:
            on_message(data)
            return False

        cursor = Cursor(self._limit)
        try:
            await self._follow(cursor, take, is_settled)
        except SessionEndedError as error:
            on_closed(error)
        except (TransportError, PeerError) as error:
            logger.warning("the GET stream of the server ended: %s", error)
            self.is_stream_lost = True
            # Otherwise subscriptions would wait forever.
            on_closed(StreamLostError(str(error)))
        finally:
            is_settled.set()

    async def _follow(
        self, cursor: Cursor, take: Callable[[bytes], bool], is_settled: asyncio.Event
    ) -> None:
        idle_attempts = 0
        while True:
            seen, begun = cursor.events, time.monotonic()
            failure = TransportError(f"{self._pool.endpoint} keeps closing its GET stream")
            is_broken = False
            try:
                if not await self._get(cursor, take, is_settled):
                    if not cursor.can_resume:
                        return
                    # The server cannot resume the stream; open a new one.
                    cursor.last_event_id = b""
            except (SessionEndedError, UnreachableError):
                raise
            except TransportError as error:
                failure, is_broken = error, True
            # Servers and proxies may close a stream that has been idle for a while.
            is_stable = cursor.events > seen or time.monotonic() - begun > _STABLE_SECONDS
            idle_attempts = 0 if is_stable else idle_attempts + 1
            if idle_attempts >= _MAX_ATTEMPTS:
                raise failure
            if not is_broken or idle_attempts > 1:
                await _pause(cursor, idle_attempts)

    async def _get(
        self, cursor: Cursor, take: Callable[[bytes], bool], is_settled: asyncio.Event | None
    ) -> bool:
        """Read a GET stream to its end; False if the server offers none."""
        headers = [("Accept", EVENT_STREAM), *self._own_headers, *self.headers()]
        if cursor.can_resume:
            headers.append(("Last-Event-ID", cursor.last_event_id.decode("latin-1")))
        async with self._pool.exchange("GET", headers) as response:
            if is_settled is not None:
                is_settled.set()
            # http.session.ended-404 (2025-11-25 basic/transports): the end of the session, if
            # there was a stream before; otherwise the server has no stream, and 405 was meant.
            if response.status == 404 and self.id is not None and self._has_stream:
                raise SessionEndedError(f"{self._pool.endpoint} has ended the session (404)")
            if response.status != 200 or response.content_type != EVENT_STREAM:
                if response.status != 405:
                    where = self._pool.endpoint
                    logger.info("%s answered GET with %s", where, response.reason)
                return False
            self._has_stream = self._has_stream or is_settled is not None
            await read_events(response, cursor, take)
        return True

    # -- resuming -----------------------------------------------------------------------------

    async def resume(
        self, cursor: Cursor, take: Callable[[bytes], bool], method: str, *, is_broken: bool
    ) -> None:
        """Resume the response stream of a request until it is answered; raises TransportError.

        A stream that is broken, not closed by the server, is resumed without a delay.
        """
        is_answered = False

        def watch(data: bytes) -> bool:
            nonlocal is_answered
            is_answered = take(data)
            return is_answered

        where = self._pool.endpoint
        idle_attempts = 0
        while cursor.can_resume and not is_answered:
            if not is_broken or idle_attempts:
                await _pause(cursor, idle_attempts)
            seen = cursor.events
            why = "the stream has no new events"
            is_unreachable = False
            try:
                if not await self._get(cursor, watch, None):
                    text = f"The response to {method} was cut off, and {where} does not resume it"
                    raise PeerError(text)
            except TransportError as error:
                if self._pool.is_closed:
                    raise
                why = str(error)
                is_unreachable = isinstance(error, UnreachableError)
            idle_attempts = 0 if cursor.events > seen else idle_attempts + 1
            if is_unreachable or idle_attempts >= _MAX_ATTEMPTS:
                raise TransportError(f"The response to {method} from {where} was cut off: {why}")

    # -- shutdown -----------------------------------------------------------------------------

    async def stop_listening(self) -> None:
        """Close the GET stream."""
        await self._listening.close()

    async def close(self) -> None:
        """End the session on the server."""
        await self.stop_listening()
        if self.id is None:
            return
        headers = [*self._own_headers, *self.headers()]
        # Errors do not matter: the server has ended, or does not let clients end sessions (405).
        with contextlib.suppress(TransportError, TimeoutError):
            async with (
                asyncio.timeout(_DELETE_SECONDS),
                self._pool.exchange("DELETE", headers),
            ):
                pass


async def _pause(cursor: Cursor, idle_attempts: int) -> None:
    """Wait for the delay that the server set, doubled after each attempt without events."""
    milliseconds = _RETRY_MS if cursor.retry_ms is None else cursor.retry_ms
    await asyncio.sleep(milliseconds / 1000 * 2**idle_attempts)
