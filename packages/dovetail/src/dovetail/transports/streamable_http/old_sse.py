"""The HTTP+SSE transport of 2024-11-05: one stream for server messages and a URL to POST to.

Deprecated since 2025-03-26 and disabled by default. A client opens the stream with GET; the
first event contains the URL for its messages. Each stream is one connection, as on stdio.

A message may arrive at another process than the one that has the stream: it is stored in a log
before it is accepted, and the process with the stream follows that log.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from dovetail.core.principal import Principal, owner_of
from dovetail.errors import InvalidRequestError, StoreError
from dovetail.runtime.connection import Connection
from dovetail.runtime.engine import Engine
from dovetail.runtime.message_handler import MessageHandler
from dovetail.runtime.processes import Processes, follow
from dovetail.runtime.state import ServerState
from dovetail.state import Retention
from dovetail.transports.asgi.in_flight import HttpCounts
from dovetail.transports.asgi.messages import (
    JSON,
    HttpRequest,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.asgi.reply import Reply
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse

__all__ = ["OldSseEndpoint"]

_UNKNOWN = "There is no such stream; open one with GET"
# Seconds that a POST waits for the client to read earlier messages from its stream.
_TIMEOUT = 30.0
# Messages that wait for a stream in another process, and the seconds for which it is known that
# the stream exists, counted from the last third of them.
_KEPT = Retention(max_entries=1000, max_bytes=32 * 1024 * 1024, max_age=60.0)
_KNOWN = 60.0


class _Place(Struct, array_like=True):
    """The process that has a stream, and its owner."""

    node: str
    owner: str | None


class _Message(Struct, array_like=True):
    """A message for a stream in another process, and its sender."""

    body: bytes
    id: str | None
    scopes: list[str]
    claims: dict[str, Any]
    trusted: bool

    @classmethod
    def of(cls, body: bytes, principal: Principal | None) -> _Message:
        """The message of this sender."""
        if principal is None:
            return cls(body, None, [], {}, False)
        scopes, claims = sorted(principal.scopes), dict(principal.claims)
        return cls(body, principal.id, scopes, claims, principal.trusted)

    def principal(self) -> Principal | None:
        """The sender."""
        if self.id is None:
            return None
        return Principal(self.id, self.scopes, self.claims, trusted=self.trusted)


class _Channel:
    """One stream and its connection."""

    __slots__ = ("connection", "principal", "reply")

    def __init__(self, connection: Connection, reply: Reply, principal: Principal | None) -> None:
        self.connection = connection
        self.reply = reply
        self.principal = principal


class OldSseEndpoint:
    """Serves clients that only support HTTP+SSE."""

    def __init__(self, engine: Engine, *, path: str, max_streams: int) -> None:
        self.path = path
        self.messages_path: str = f"{path}/messages"
        self._engine = engine
        self._max_streams = max_streams
        self._channels: dict[str, _Channel] = {}
        self._places = None
        if engine.processes is not None:
            self._places = _Places(engine.state, engine.processes)

    async def get(self, request: HttpRequest, scope: Any, principal: Principal | None) -> None:
        """Open a stream and serve it until either side disconnects."""
        if len(self._channels) >= self._max_streams:
            text = f"The server has reached its limit of {self._max_streams} streams; retry later"
            await _refuse(request, 503, text)
            return
        reply = Reply(request.transmit)
        connection = Connection(
            self._engine,
            partial(reply.event, is_answer=True),
            # Notifications are dropped if the client does not read.
            send_notification=reply.event,
            drain=reply.drain,
            scope=scope,
            principal=principal,
        )
        id = secrets.token_urlsafe(32)
        if self._places is not None:
            try:
                await self._places.add(id, owner_of(principal))
            except StoreError as error:
                await connection.close()
                await _refuse(request, 503, error.message)
                return
        self._channels[id] = _Channel(connection, reply, principal)
        # sse.endpoint-event (2024-11-05 basic/transports): the first event
        root = request.scope.get("root_path", "")
        url = f"{root}{self.messages_path}?session_id={id}"
        reply.raw(encode_sse(url.encode(), event=b"endpoint"))

        def disconnect() -> None:
            # Remove the channel first, so that no further POST is accepted for it.
            self._channels.pop(id, None)
            reply.stop()

        watch = watch_for_disconnect(request.receive, disconnect)
        following = None
        if self._places is not None:
            following = asyncio.create_task(self._receive(self._places, id, reply))
        try:
            await reply.written()
        finally:
            watch.cancel()
            if following is not None and self._places is not None:
                following.cancel()
                self._places.remove(id)
            self._channels.pop(id, None)
            await connection.close()

    async def post(self, request: HttpRequest, body: bytes, principal: Principal | None) -> None:
        """Receive one message; the response is sent on the stream."""
        query = parse_qs(request.scope.get("query_string", b"").decode("latin-1"))
        id = query.get("session_id", [""])[0]
        is_here = self._places is None or id in self._channels
        if is_here:
            refusal = await self._refusal(id, principal)
        else:
            refusal = await self._pass_on(id, body, principal)
        if refusal is not None:
            await _refuse(request, *refusal)
            return
        await respond(request.transmit, 202)
        if is_here:
            self._hand_over(id, body, principal)

    async def _refusal(self, id: str, principal: Principal | None) -> tuple[int, str] | None:
        """Why the stream takes no message now: the status and the error text."""
        channel = self._channels.get(id)
        if channel is not None and owner_of(channel.principal) == owner_of(principal):
            try:
                # Responses are never dropped, so requests wait until the client reads them.
                async with asyncio.timeout(_TIMEOUT):
                    await channel.reply.drain()
            except TimeoutError:
                return 503, "The stream has unread messages; read them and retry"
            if id in self._channels:
                return None
        return 404, _UNKNOWN

    def _hand_over(self, id: str, body: bytes, principal: Principal | None) -> None:
        channel = self._channels.get(id)
        if channel is not None:
            # Permissions come from this request, not from the one that opened the stream.
            channel.connection.principal = principal
            channel.connection.receive(body)

    # -- several processes ----------------------------------------------------------------------

    async def _pass_on(
        self, id: str, body: bytes, principal: Principal | None
    ) -> tuple[int, str] | None:
        """Store a message for a stream of another process; why not, if it cannot be."""
        assert self._places is not None
        try:
            if await self._places.send(id, owner_of(principal), _Message.of(body, principal)):
                return None
        except StoreError as error:
            return 503, error.message
        return 404, _UNKNOWN

    async def _receive(self, places: _Places, id: str, reply: Reply) -> None:
        """Take the messages that other processes have received, until this is cancelled."""
        try:
            pages = follow(places.backend, places.log(id))
            async with contextlib.aclosing(pages):
                async for page in pages:
                    if page.lost:
                        # They were accepted, so the client must learn that they are gone.
                        return
                    await places.keep(id)
                    for entry in page.entries:
                        # Requests wait until the client reads the responses before them.
                        await reply.drain()
                        message = msgspec.msgpack.decode(entry.data, type=_Message)
                        self._hand_over(id, message.body, message.principal())
        finally:
            reply.stop()

    @property
    def counts(self) -> HttpCounts:
        """Current number of open streams."""
        return HttpCounts(streams=len(self._channels))

    @property
    def handlers(self) -> list[MessageHandler]:
        """The handlers of running calls."""
        return [channel.connection.handler for channel in self._channels.values()]

    def end_streams(self) -> None:
        """End the streams that no running call needs."""
        for channel in self._channels.values():
            if not channel.connection.handler.in_flight:
                channel.reply.stop()

    def close(self) -> None:
        """End all streams."""
        for channel in self._channels.values():
            channel.reply.stop()


class _Places:
    """Where the streams of all processes are."""

    def __init__(self, state: ServerState, processes: Processes) -> None:
        self.backend = state.backend
        self._state = state
        self._processes = processes
        # Own streams: their values, and when they were stored the last time.
        self._own: dict[str, tuple[bytes, float]] = {}

    def log(self, id: str) -> str:
        """The log with the messages for a stream; its key is not the id, which is a credential."""
        return self._state.key("sse", sha256(id.encode("utf-8", "surrogatepass")).hexdigest())

    async def add(self, id: str, owner: str | None) -> None:
        """Store that this process has a stream; raises StoreError."""
        value = msgspec.msgpack.encode(_Place(self._processes.node, owner))
        await self.backend.set(self.log(id), value, ttl=_KNOWN)
        self._own[id] = value, time.monotonic()

    async def keep(self, id: str) -> None:
        """Store it again now and then."""
        value, stored_at = self._own[id]
        if time.monotonic() - stored_at > _KNOWN / 3:
            with contextlib.suppress(StoreError):
                await self.backend.set(self.log(id), value, ttl=_KNOWN)
                self._own[id] = value, time.monotonic()

    def remove(self, id: str) -> None:
        """The stream has ended."""
        del self._own[id]
        self._state.start(self._remove(self.log(id)))

    async def _remove(self, log: str) -> None:
        # Otherwise both disappear later.
        with contextlib.suppress(StoreError):
            await self.backend.delete(log)
            await self.backend.drop(log)

    async def send(self, id: str, owner: str | None, message: _Message) -> bool:
        """Store a message for a stream; False if there is no such stream. Raises StoreError."""
        log = self.log(id)
        found = await self.backend.get(log)
        if found is None:
            return False
        place = msgspec.msgpack.decode(found.data, type=_Place)
        if place.owner != owner or not await self._processes.is_alive(place.node):
            return False
        await self.backend.append(log, msgspec.msgpack.encode(message), _KEPT)
        return True


async def _refuse(request: HttpRequest, status: int, text: str) -> None:
    error = codec.encode_error(None, InvalidRequestError(text))
    await respond(request.transmit, status, error, JSON)
