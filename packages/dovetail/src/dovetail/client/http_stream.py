"""Reading a response that is a stream of events, and where to go on when it breaks off."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.client.http_connection import HttpResponse
from dovetail.wire.framing import SseBuffer

__all__ = ["EVENT_STREAM", "Cursor", "read_events"]

EVENT_STREAM = "text/event-stream"


class Cursor:
    """How far a stream has been read, across all the connections that carry it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.last_event_id = b""
        self.retry_ms: int | None = None
        # Events so far, of whatever kind: a stream that moves on is alive.
        self.events = 0

    @property
    def can_resume(self) -> bool:
        """Whether the server said how to come back."""
        id = self.last_event_id
        # What cannot stand in a header cannot be named.
        return bool(id) and id.isascii() and id.decode().isprintable() and id == id.strip()


async def read_events(
    response: HttpResponse, cursor: Cursor, take: Callable[[bytes], bool]
) -> None:
    """Hand each message to `take` until it says that this was the last, or the stream ends."""
    buffer = SseBuffer(cursor.limit)
    async for piece in response.pieces():
        for event in buffer.feed(piece):
            cursor.events += 1
            cursor.last_event_id = event.id if event.id is not None else cursor.last_event_id
            # An event without data says where the stream stands, and no more.
            if event.data and event.event == b"message" and take(event.data):
                return
        if buffer.last_event_id:
            cursor.last_event_id = buffer.last_event_id
        if buffer.retry is not None:
            cursor.retry_ms = buffer.retry
