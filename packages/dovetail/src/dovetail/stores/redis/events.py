"""Stream events on Redis, for clients that resume a stream of a process that has ended.

events:SESSION:STREAM    the events (a Redis stream); the id of event n is n+1-0
stream:SESSION:STREAM    the requests that the stream answers, and whether it is complete
"""

from __future__ import annotations

import contextlib

from dovetail.errors import StoreError
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.resp import Argument
from dovetail.stores.shared_stores import StoredEvents

__all__ = ["RedisEvents"]

# Seconds after the last event for which a stream is stored.
_LIFETIME = 600


class RedisEvents:
    """Events that survive the process that sent them.

    Nothing is raised by the methods that write: without Redis, a stream can be resumed only in
    the process that has it.
    """

    def __init__(self, node: RedisNode) -> None:
        self._node = node

    def begin(self, session: str, stream: str, requests: bytes) -> None:
        """Store a new stream and the requests that it answers."""
        key = self._node.key("stream", session, stream)
        self._post("HSET", key, "requests", requests)
        self._post("EXPIRE", key, _LIFETIME)

    def append(
        self, session: str, stream: str, number: int, message: bytes, *, oldest: int
    ) -> None:
        """Store an event; drops those before number `oldest`."""
        key = self._node.key("events", session, stream)
        self._post("XADD", key, "MINID", f"{oldest + 1}-0", f"{number + 1}-0", "m", message)
        self._post("EXPIRE", key, _LIFETIME)
        self._post("EXPIRE", self._node.key("stream", session, stream), _LIFETIME)

    def complete(self, session: str, stream: str) -> None:
        """No more events will follow."""
        self._post("HSET", self._node.key("stream", session, stream), "complete", 1)

    def drop(self, session: str, stream: str) -> None:
        """Delete a stream."""
        keys = (self._node.key(kind, session, stream) for kind in ("events", "stream"))
        self._post("DEL", *keys)

    async def read(self, session: str, stream: str, after: int) -> StoredEvents | None:
        """The events after a number; None if some are no longer stored. Raises StoreError."""
        client = self._node.client
        about = client.send(
            "HMGET", self._node.key("stream", session, stream), "requests", "complete"
        )
        found = await client.do("XRANGE", self._node.key("events", session, stream), "-", "+")
        requests, complete = await about
        events = [(int(id.partition(b"-")[0]) - 1, fields[1]) for id, fields in found]
        if requests is None or (events and events[0][0] > after + 1):
            return None
        numbers = [number for number, _ in events]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers)) if numbers else ()):
            # Redis could not be reached when some of them were sent.
            return None
        rest = [(number, message) for number, message in events if number > after]
        return StoredEvents(rest, requests, complete is not None)

    def _post(self, *command: Argument) -> None:
        with contextlib.suppress(StoreError):
            self._node.client.post(*command)
