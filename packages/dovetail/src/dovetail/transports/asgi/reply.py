"""The answer to a POST: plain JSON, unless something has to be said before it is ready.

The first message that a handler sends turns the response into a stream of events, which
ends with the answer. Until then nothing is written and nothing is scheduled, so a call that
just answers costs no more than the answer. What a slow client does not read waits, but only
so much of it: beyond that, messages that are not the answer are dropped.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from dovetail.transports.asgi.messages import JSON, Headers, Transmit, respond
from dovetail.wire.framing import encode_sse, encode_sse_comment

__all__ = ["EVENT_STREAM", "Reply"]

logger = logging.getLogger("dovetail")

# http2.sse.accel-buffering (2026-07-28 basic/transports/streamable-http): proxies must not
# hold events back
EVENT_STREAM: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

# Bytes that may wait for one slow reader.
_MOST_WAITING = 1024 * 1024
# Quiet seconds after which a comment shows proxies that the stream is alive.
_KEEP_ALIVE = 15.0
# Seconds that a client may take to read what is written to it.
_PATIENCE = 120.0


class Reply:
    """One HTTP response in the making; the outbox of its call."""

    # Most responses never touch these, so they stay on the class until somebody sets them.
    _size = 0
    _ending = False
    _waiting: deque[bytes]
    _writer: asyncio.Task[None] | None = None
    _wake: asyncio.Event | None = None
    # Set when a slow reader has caught up, for whoever waits for that.
    _room: asyncio.Event | None = None

    def __init__(self, transmit: Transmit, *, streams: bool = True) -> None:
        """Without `streams` whatever comes before the answer is dropped."""
        self.transmit = transmit
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    # -- as an outbox -----------------------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Say something before the answer; from any thread."""
        self.on_loop(self.event, message)

    def on_loop(self, act: Callable[..., None], *given: Any) -> None:
        """Call something where the response is written, from wherever this is called."""
        if threading.get_ident() == self._thread:
            act(*given)
        else:
            self._loop.call_soon_threadsafe(act, *given)

    async def drain(self) -> None:
        """Let a slow reader catch up."""
        if self._size > _MOST_WAITING // 2:
            self._room = self._room or asyncio.Event()
            await self._room.wait()

    # -- as a response ----------------------------------------------------------------------

    @property
    def is_stream(self) -> bool:
        """Whether the response has become a stream of events."""
        return self._writer is not None

    async def finish(self, answer: bytes, status: int = 200, headers: Headers = JSON) -> None:
        """Send the answer and end the response."""
        if self._writer is None:
            self._ending = True
            await respond(self.transmit, status, answer, headers)
            return
        self.event(answer, is_answer=True)
        await self.end()

    async def end(self) -> None:
        """End the stream and wait until it is written."""
        self.stop()
        if self._writer is not None:
            await self._writer

    def stop(self) -> None:
        """End the stream once what waits is written."""
        self._ending = True
        if self._wake is not None:
            self._wake.set()

    async def written(self) -> None:
        """Wait until the stream has ended and all of it is written."""
        if self._writer is not None:
            await self._writer

    def open(self) -> None:
        """Make the response a stream, also if there is nothing to say yet."""
        if self._writer is None:
            self._waiting = deque()
            self._wake = asyncio.Event()
            self._writer = self._loop.create_task(self._write(self._wake))

    def raw(self, chunk: bytes) -> None:
        """Put an encoded event on the stream, opening it if need be."""
        if self._ending or not self._streams:
            return
        self.open()
        self._waiting.append(chunk)
        self._size += len(chunk)
        assert self._wake is not None
        self._wake.set()

    def event(self, message: bytes, *, id: bytes | None = None, is_answer: bool = False) -> None:
        """Put a message on the stream; it is dropped if too much waits already."""
        if self._size > _MOST_WAITING and not is_answer:
            logger.debug("dropped a message that a slow client has no room for")
            return
        self.raw(encode_sse(message, event=b"message", id=id))

    async def _write(self, wake: asyncio.Event) -> None:
        try:
            await self._write_all(wake)
        except (OSError, TimeoutError) as error:
            # What ASGI servers raise for a client that is gone (ASGI 2.4), or the end of patience.
            logger.debug("ended a stream that is not read: %r", error)
            self._ending = True
        finally:
            # However it ended, nobody will read what is left, and nobody need wait for that.
            self._waiting.clear()
            self._size = 0
            self._make_room()

    def _make_room(self) -> None:
        if self._room is not None and self._size <= _MOST_WAITING // 2:
            self._room.set()
            self._room = None

    async def _write_all(self, wake: asyncio.Event) -> None:
        # A list of its own: middleware may add to it in place.
        headers = [*EVENT_STREAM]
        await self.transmit({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            wake.clear()
            while self._waiting:
                chunk = b"".join(self._waiting)
                self._waiting.clear()
                # Whoever reads nothing for so long is not there, whatever its connection says.
                async with asyncio.timeout(_PATIENCE):
                    await self.transmit(
                        {"type": "http.response.body", "body": chunk, "more_body": True}
                    )
                self._size -= len(chunk)
                self._make_room()
            if self._ending:
                break
            try:
                async with asyncio.timeout(_KEEP_ALIVE):
                    await wake.wait()
            except TimeoutError:
                self.raw(encode_sse_comment())
        await self.transmit({"type": "http.response.body", "body": b""})
