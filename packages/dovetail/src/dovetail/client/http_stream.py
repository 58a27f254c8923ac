"""Reading event streams, and the position from which a broken one is resumed."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.net.http_connection import ClientResponse
from dovetail.wire.framing import SseBuffer

__all__ = ["EVENT_STREAM", "Cursor", "read_events"]

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
