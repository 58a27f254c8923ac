"""The response to a POST: plain JSON, or an SSE stream if messages are sent before the result.

The first message that a handler sends turns the response into an SSE stream, which ends with
the JSON-RPC response. Until then nothing is written or scheduled, so a call without messages has
no overhead. Messages for a slow client are queued up to a limit; beyond it, messages other than
the JSON-RPC response are dropped.
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

logger: logging.Logger = logging.getLogger("dovetail")

# http2.sse.accel-buffering (2026-07-28 basic/transports/streamable-http): proxies must not
# hold events back
EVENT_STREAM: Headers = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]

# Maximum bytes queued for one slow client.
_MAX_QUEUED_BYTES = 1024 * 1024
# Idle seconds after which a comment is sent, so that proxies keep the stream open.
_KEEP_ALIVE = 15.0
# Seconds that one write may take before the client counts as disconnected.
_WRITE_TIMEOUT = 120.0


class Reply:
    """One HTTP response, which becomes an SSE stream when it is needed."""

    # Most responses never set these, so the defaults are on the class.
    _size = 0
    _ending = False
    _queue: deque[bytes]
    _writer: asyncio.Task[None] | None = None
    _wake: asyncio.Event | None = None
    # Set when a slow client has caught up, to wake `drain`.
    _drained: asyncio.Event | None = None

    def __init__(self, transmit: Transmit, *, streams: bool = True) -> None:
        """With `streams=False`, messages before the response are dropped."""
        self.transmit = transmit
        self._streams = streams
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    # -- messages before the response --------------------------------------------------------

    def send(self, message: bytes) -> None:
        """Send a message before the response; thread-safe."""
        self.on_loop(self.event, message)

    def on_loop(self, act: Callable[..., None], *given: Any) -> None:
        """Call `act` in the thread of the event loop; thread-safe."""
        if threading.get_ident() == self._thread:
            act(*given)
        else:
            self._loop.call_soon_threadsafe(act, *given)

    async def drain(self) -> None:
        """Wait until a slow client has caught up."""
        if self._size > _MAX_QUEUED_BYTES // 2:
            self._drained = self._drained or asyncio.Event()
            await self._drained.wait()

    # -- the response -----------------------------------------------------------------------

    @property
    def is_stream(self) -> bool:
        """Whether the response has become an SSE stream."""
        return self._writer is not None

    async def finish(self, answer: bytes, status: int = 200, headers: Headers = JSON) -> None:
        """Send the JSON-RPC response and end the HTTP response."""
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
        """End the stream after the queued messages are written."""
        self._ending = True
        if self._wake is not None:
            self._wake.set()

    async def written(self) -> None:
        """Wait until the stream has ended and is fully written."""
        if self._writer is not None:
            await self._writer

    def open(self) -> None:
        """Start the SSE stream, even if there is no message yet."""
        if self._writer is None:
            self._queue = deque()
            self._wake = asyncio.Event()
            self._writer = self._loop.create_task(self._write(self._wake))

    def raw(self, chunk: bytes) -> None:
        """Queue an encoded event; starts the stream if needed."""
        if self._ending or not self._streams:
            return
        self.open()
        self._queue.append(chunk)
        self._size += len(chunk)
        assert self._wake is not None
        self._wake.set()

    def event(self, message: bytes, *, id: bytes | None = None, is_answer: bool = False) -> None:
        """Queue a message; it is dropped if the queue is full, unless it is the response."""
        self.chunk(encode_sse(message, event=b"message", id=id), is_answer=is_answer)

    def chunk(self, chunk: bytes, *, is_answer: bool) -> None:
        """Queue an encoded event; it is dropped if the queue is full, unless it is the response."""
        if self._size > _MAX_QUEUED_BYTES and not is_answer:
            logger.debug("dropped a message for a slow client")
            return
        self.raw(chunk)

    async def _write(self, wake: asyncio.Event) -> None:
        try:
            await self._write_all(wake)
        except (OSError, TimeoutError) as error:
            # ASGI servers raise OSError for a disconnected client (ASGI 2.4).
            logger.debug("ended a stream whose client does not read: %r", error)
            self._ending = True
        finally:
            # Drop what is left and wake `drain`: nothing more will be written.
            self._queue.clear()
            self._size = 0
            self._wake_drain()

    def _wake_drain(self) -> None:
        if self._drained is not None and self._size <= _MAX_QUEUED_BYTES // 2:
            self._drained.set()
            self._drained = None

    async def _write_all(self, wake: asyncio.Event) -> None:
        # A copy, because middleware may append to it in place.
        headers = [*EVENT_STREAM]
        await self.transmit({"type": "http.response.start", "status": 200, "headers": headers})
        while True:
            wake.clear()
            while self._queue:
                chunk = b"".join(self._queue)
                self._queue.clear()
                # A client that reads nothing for this long counts as disconnected.
                async with asyncio.timeout(_WRITE_TIMEOUT):
                    await self.transmit(
                        {"type": "http.response.body", "body": chunk, "more_body": True}
                    )
                self._size -= len(chunk)
                self._wake_drain()
            if self._ending:
                break
            try:
                async with asyncio.timeout(_KEEP_ALIVE):
                    await wake.wait()
            except TimeoutError:
                self.raw(encode_sse_comment())
        await self.transmit({"type": "http.response.body", "body": b""})
