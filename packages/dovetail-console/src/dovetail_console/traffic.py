"""The recorded messages of all clients, for the page.

The memory is bounded, and secrets are masked before anything is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from dovetail.wire import codec
from dovetail_console.masking import mask_text

__all__ = ["Traffic", "classify"]

_MAX_FRAMES = 500
_MAX_TEXT = 64 * 1024
# Frames that wait for a page that reads slowly.
_MAX_WAITING = 1000


class Traffic:
    """The last frames, and the pages that wait for the next ones."""

    def __init__(self) -> None:
        self._frames: deque[dict[str, Any]] = deque(maxlen=_MAX_FRAMES)
        self._waiting: set[asyncio.Queue[dict[str, Any]]] = set()
        self._count = 0
        self._streams = 0

    def next_stream(self, prefix: str) -> str:
        """The name of a new HTTP exchange or connection."""
        self._streams += 1
        return f"{prefix}{self._streams}"

    def add(
        self,
        stream: str,
        direction: str,
        text: str,
        *,
        http: dict[str, Any] | None = None,
        principal: str | None = None,
        ms: float | None = None,
    ) -> None:
        """Record a frame."""
        self._count += 1
        kind, method, id = classify(text)
        masked = mask_text(text)
        frame = {
            "n": self._count,
            "at": time.time(),
            "stream": stream,
            "direction": direction,
            "kind": kind,
            "method": method,
            "id": id,
            "http": http,
            "text": masked if len(masked) <= _MAX_TEXT else f"{masked[:_MAX_TEXT]}[cut]",
            "principal": principal,
            "ms": ms,
        }
        self._frames.append(frame)
        for queue in self._waiting:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(frame)

    async def follow(self) -> AsyncIterator[dict[str, Any]]:
        """The last frames, then each new one."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MAX_WAITING)
        for frame in self._frames:
            queue.put_nowait(frame)
        self._waiting.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._waiting.discard(queue)


def classify(text: str) -> tuple[str, str | None, Any]:
    """The kind of a message, its method and its id; of the first message of a batch."""
    try:
        value = codec.decode_json(text.encode())
    except (msgspec.ValidationError, RecursionError):
        return "http", None, None
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return "http", None, None
    method, id = first.get("method"), first.get("id")
    if isinstance(method, str):
        return ("notification" if id is None else "request"), method, id
    if "error" in first:
        return "error", None, id
    return ("response" if "result" in first else "http"), None, id
