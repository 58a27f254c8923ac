"""Streams that are produced in one process and read by the client in another.

A stream stays in the process that runs its call. When the client resumes it elsewhere, that
process takes it: the producing process sends the missed events and all later ones to it. Messages
between processes may be lost. So events are passed on only without gaps, and a stream on which
nothing arrives is taken again from the last event. If the producing process has ended, the rest is
read from the store.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence

from dovetail.errors import InternalError, StoreError
from dovetail.stores.cluster import Cluster
from dovetail.stores.shared_stores import SharedEvents, StoredEvents
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.cluster_messages import (
    EVENTS,
    LEFT,
    Events,
    Left,
    Take,
    Taken,
    pack,
    take_topic,
    unpack,
)
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse

__all__ = ["Follower", "Followers", "RemoteReply", "StreamId"]

# Seconds between two checks whether the producing process is alive.
_CHECK_SECONDS = 1.0


class StreamId:
    """The parts of a stream's name in a cluster: `<node>.<endpoint>-<number>`."""

    __slots__ = ("endpoint", "name", "node", "seen")

    def __init__(self, last_event_id: bytes) -> None:
        name, _, number = last_event_id.decode("latin-1").rpartition("_")
        producer, _, _ = name.rpartition("-")
        self.name = name
        self.node, _, self.endpoint = producer.partition(".")
        # The number of the last event that the client has seen; -1 if it is not a number.
        self.seen = int(number) if number.isdecimal() and number.isascii() else -1


class RemoteReply:
    """Sends the events of a stream to the process that has the connection of the client."""

    __slots__ = ("_cluster", "_last", "node", "token")

    def __init__(self, cluster: Cluster, node: str, token: str, seen: int) -> None:
        """`seen`: the number of the last event that the client has."""
        self._cluster = cluster
        self.node = node
        self.token = token
        self._last = seen

    def raw(self, chunk: bytes) -> None:
        """Send an encoded event."""
        self._send(Events(self.token, -1, chunk, is_answer=True))

    def event(self, message: bytes, *, id: bytes | None = None, is_answer: bool = False) -> None:
        """Send a message; the other process may drop it for a slow client."""
        chunk = encode_sse(message, event=b"message", id=id)
        number = _number(id)
        self._last = max(self._last, number)
        self._send(Events(self.token, number, chunk, is_answer=is_answer))

    def stop(self) -> None:
        """End after what was sent."""
        self._send(Events(self.token, self._last, is_last=True))

    def _send(self, events: Events) -> None:
        self._cluster.send(self.node, EVENTS, pack(events))


class Follower:
    """A connection of this process that continues a stream of another one."""

    def __init__(self, session: str, stream: StreamId, reply: Reply) -> None:
        # The name of the connection; another one each time that the stream is taken.
        self.token = ""
        self.session = session
        self.stream = stream
        self.reply = reply
        # The number of the last event that was sent to the client.
        self.seen = stream.seen
        # Whether something has arrived since the last look.
        self.is_active = True

    def receive(self, events: Events) -> None:
        """Pass an event on to the client, unless one before it is missing."""
        if events.is_last:
            if events.number <= self.seen:
                self.reply.stop()
            return
        if events.number >= 0:
            if events.number != self.seen + 1:
                return
            self.seen = events.number
        self.is_active = True
        self.reply.chunk(events.chunk, is_answer=events.is_answer)

    def send_rest(self, stored: StoredEvents) -> None:
        """Send what is left of a stream whose process has ended."""
        for number, message in stored.events:
            self.seen = number
            if message:
                id = f"{self.stream.name}_{number}".encode()
                self.reply.event(message, id=id, is_answer=True)
        if not stored.is_complete:
            for message in _failures(codec.decode_json(stored.requests)):
                self.reply.event(message, is_answer=True)


class Followers:
    """All followers of one endpoint."""

    def __init__(self, cluster: Cluster, events: SharedEvents) -> None:
        self._cluster = cluster
        self._events = events
        self._followers: dict[str, Follower] = {}
        cluster.on_message(EVENTS, self._receive)
        # Events may be lost: the clients resume their streams from the last one they have.
        cluster.on_reset(self._stop_all)

    def _receive(self, _node: str, message: bytes) -> None:
        events = unpack(Events, message)
        follower = self._followers.get(events.token)
        if follower is not None:
            follower.receive(events)

    def _stop_all(self) -> None:
        for follower in self._followers.values():
            follower.reply.stop()

    async def take(self, follower: Follower) -> bool:
        """Continue a stream of another process; False if it is unknown there.

        Raises StoreError if the process cannot be reached.
        """
        stream = follower.stream
        self._followers.pop(follower.token, None)
        follower.token = secrets.token_hex(8)
        # Registered first: events arrive before the answer.
        self._followers[follower.token] = follower
        event_id = f"{stream.name}_{follower.seen}".encode()
        request = Take(follower.session, stream.name, event_id, follower.token)
        is_known = False
        try:
            topic = take_topic(stream.endpoint)
            answer = await self._cluster.request(stream.node, topic, pack(request))
            is_known = unpack(Taken, answer).is_known
        finally:
            if not is_known:
                self._followers.pop(follower.token, None)
        return is_known

    async def watch(self, follower: Follower) -> None:
        """Fetch what did not arrive, and end the stream if its process ends."""
        stream = follower.stream
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            was_active, follower.is_active = follower.is_active, False
            try:
                if await self._cluster.is_alive(stream.node):
                    if not was_active and not await self.take(follower):
                        follower.reply.stop()
                        return
                    continue
                stored = await self._events.read(follower.session, stream.name, follower.seen)
            except StoreError:
                continue
            if stored is not None:
                follower.send_rest(stored)
            follower.reply.stop()
            return

    def leave(self, follower: Follower) -> None:
        """The client has left, or the stream has ended."""
        if self._followers.pop(follower.token, None) is not None:
            left = Left(follower.session, follower.stream.name, follower.token)
            self._cluster.send(follower.stream.node, LEFT, pack(left))


def _failures(ids: Sequence[str | int]) -> list[bytes]:
    error = InternalError("The process that served this request has ended; send it again")
    return [codec.encode_error(codec.encode_id(id), error) for id in ids]


def _number(id: bytes | None) -> int:
    """The number in an event id."""
    return -1 if id is None else int(id.rpartition(b"_")[2])
