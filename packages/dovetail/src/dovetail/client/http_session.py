"""What only legacy servers have on HTTP: a session, and streams that outlive their connection.

The session begins with the answer to initialize. Messages of the server's own come on the
stream of a GET, if it offers one. A stream whose events have ids is picked up where it broke,
with another GET that names the last id (2025-11-25 basic/transports).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw, Struct

from dovetail.client.background import Background
from dovetail.client.channel import OnClosed, OnMessage, SessionEndedError, UnreachableError
from dovetail.client.http_connection import Headers
from dovetail.client.http_pool import HttpPool
from dovetail.client.http_stream import EVENT_STREAM, Cursor, read_events
from dovetail.errors import PeerError, TransportError
from dovetail.wire import codec

__all__ = ["ClientHttpSession"]

logger = logging.getLogger("dovetail")

# What the official SDK waits where the server does not say.
_RETRY_MS = 1000
# Attempts in a row that bring nothing new.
_MOST_ATTEMPTS = 5
# A server may hold the head of its stream back until it has something to say.
_LISTEN_SECONDS = 1.0
# Ending the session is a courtesy; nobody waits long for it.
_DELETE_SECONDS = 2.0


class _Agreed(Struct, rename="camel"):
    protocol_version: str


class ClientHttpSession:
    """One handshake, and what goes with it."""

    def __init__(self, pool: HttpPool, own_headers: Headers, limit: int) -> None:
        self.id: str | None = None
        self._version: str | None = None
        self._pool = pool
        self._own_headers: Sequence[tuple[str, str]] = own_headers
        self._limit = limit
        self._listening = Background()
        self._has_stream = False

    def assign(self, id: str | None) -> None:
        """Take the id that came with the answer to initialize."""
        if id is not None and not all("!" <= character <= "~" for character in id):
            raise PeerError("The server sent an Mcp-Session-Id that is no visible ASCII")
        self.id = id or None

    def agree(self, result: Raw) -> None:
        """Take the version that the answer to initialize names."""
        # One that does not fit is refused by whoever asked for it.
        with contextlib.suppress(msgspec.ValidationError):
            version = codec.decode_as(_Agreed, result).protocol_version
            self._version = version if version.isascii() and version.isprintable() else None

    @property
    def is_agreed(self) -> bool:
        """Whether initialize was answered with a version."""
        return self._version is not None

    def headers(self) -> list[tuple[str, str]]:
        """What every request says once this is known."""
        headers = []
        if self._version is not None:
            headers.append(("MCP-Protocol-Version", self._version))
        if self.id is not None:
            headers.append(("Mcp-Session-Id", self.id))
        return headers

    # -- the stream of the server's own messages ----------------------------------------------

    async def listen(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Open the GET stream if the server has one, and wait a moment until it is there."""
        is_settled = asyncio.Event()
        self._listening.start(self._listen(on_message, on_closed, is_settled))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_SECONDS):
                await is_settled.wait()

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
        except UnreachableError as error:
            # Whoever waits for changes would wait forever.
            on_closed(TransportError(str(error)))
        except (TransportError, PeerError) as error:
            logger.warning("the server's own messages are no longer heard: %s", error)
        finally:
            is_settled.set()

    async def _follow(
        self, cursor: Cursor, take: Callable[[bytes], bool], is_settled: asyncio.Event
    ) -> None:
        idle_rounds = 0
        while idle_rounds < _MOST_ATTEMPTS:
            seen = cursor.events
            try:
                if not await self._get(cursor, take, is_settled):
                    if not cursor.can_resume:
                        return
                    # It kept nothing to go on with; a new stream is better than none.
                    cursor.last_event_id = b""
            except SessionEndedError:
                raise
            except TransportError:
                # Also the first attempt may meet a server that is just going away.
                if idle_rounds == _MOST_ATTEMPTS - 1:
                    raise
            idle_rounds = 0 if cursor.events > seen else idle_rounds + 1
            await _pause(cursor, idle_rounds)

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
            # there was a stream before; else such a server has none, and should have said 405.
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

    # -- streams that broke off ---------------------------------------------------------------

    async def resume(self, cursor: Cursor, take: Callable[[bytes], bool], method: str) -> None:
        """Go on with the response to a request until it is answered; raises TransportError."""
        is_answered = False

        def watch(data: bytes) -> bool:
            nonlocal is_answered
            is_answered = take(data)
            return is_answered

        where = self._pool.endpoint
        idle_rounds = 0
        while cursor.can_resume and not is_answered:
            await _pause(cursor, idle_rounds)
            seen = cursor.events
            why = "the stream brings nothing new"
            try:
                if not await self._get(cursor, watch, None):
                    text = f"The response to {method} broke off, and {where} does not resume it"
                    raise PeerError(text)
            except TransportError as error:
                if self._pool.is_closed:
                    raise
                why = str(error)
            idle_rounds = 0 if cursor.events > seen else idle_rounds + 1
            if idle_rounds >= _MOST_ATTEMPTS:
                raise TransportError(f"The response to {method} from {where} broke off: {why}")

    # -- the end ------------------------------------------------------------------------------

    async def stop_listening(self) -> None:
        """Close the GET stream."""
        await self._listening.close()

    async def close(self) -> None:
        """Tell the server that the session is over."""
        await self.stop_listening()
        if self.id is None:
            return
        headers = [*self._own_headers, *self.headers()]
        # A server that is gone, or wants to keep its sessions (405), is left alone.
        with contextlib.suppress(TransportError, TimeoutError):
            async with (
                asyncio.timeout(_DELETE_SECONDS),
                self._pool.exchange("DELETE", headers),
            ):
                pass


async def _pause(cursor: Cursor, idle_rounds: int) -> None:
    """The server's own wish, and longer each time nothing comes of it."""
    milliseconds = _RETRY_MS if cursor.retry_ms is None else cursor.retry_ms
    await asyncio.sleep(milliseconds / 1000 * 2**idle_rounds)
