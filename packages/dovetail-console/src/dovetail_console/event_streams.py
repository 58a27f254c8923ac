"""Responses of server-sent events, which end when the page goes away or the server shuts down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from dovetail.transports import HttpRequest
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse, encode_sse_comment
from dovetail_console.requests import RefusedError

__all__ = ["SECURITY_HEADERS", "EventStream", "EventStreams"]

# Of every response of the console: no framing, no foreign scripts, no referrer.
_POLICY = (
    b"default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", _POLICY),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

logger: logging.Logger = logging.getLogger("dovetail")

# Seconds between comments.
_COMMENT_SECONDS = 15.0
_MAX_STREAMS = 200


class EventStream:
    """One open response."""

    def __init__(self, request: HttpRequest) -> None:
        self._transmit = request.transmit
        # The events and the comments come from two tasks.
        self._lock = asyncio.Lock()

    async def open(self, more: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Send the head of the response."""
        headers = [
            *more,
            (b"content-type", b"text/event-stream"),
            (b"cache-control", b"no-store"),
            *SECURITY_HEADERS,
        ]
        await self._transmit({"type": "http.response.start", "status": 200, "headers": headers})

    async def send(self, event: str, data: Any) -> None:
        """Send one event."""
        await self._write(encode_sse(codec.encode(data), event=event.encode()))

    async def keep_alive(self) -> None:
        """Send comments, so that no proxy closes the stream; never returns."""
        while True:
            await self._write(encode_sse_comment())
            await asyncio.sleep(_COMMENT_SECONDS)

    async def close(self) -> None:
        """End the response."""
        await self._transmit({"type": "http.response.body", "body": b""})

    async def _write(self, data: bytes) -> None:
        async with self._lock:
            await self._transmit({"type": "http.response.body", "body": data, "more_body": True})


class EventStreams:
    """The open streams of the console."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    async def serve(
        self,
        request: HttpRequest,
        work: Callable[[EventStream], Coroutine[Any, Any, None]],
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Send the events of `work`, which is cancelled if the page goes away.

        Raises RefusedError if too many streams are open.
        """
        if len(self._running) >= _MAX_STREAMS:
            raise RefusedError(429, "Too many streams of the console are open; close other pages")
        stream = EventStream(request)
        await stream.open(headers)
        task = asyncio.create_task(work(stream))

        def stop() -> None:
            task.cancel()

        watch = request.watch(stop)
        comments = asyncio.ensure_future(stream.keep_alive())
        self._running.add(task)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._running.discard(task)
            watch.cancel()
            comments.cancel()
            await asyncio.wait([comments])
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("The console failed", exc_info=error)
            await stream.send("error", {"message": "The console failed; the server's log says why"})
        await stream.close()

    def end(self) -> None:
        """End all streams."""
        for task in tuple(self._running):
            task.cancel()
