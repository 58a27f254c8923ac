"""The HTTP+SSE transport of 2024-11-05: one stream for server messages and a URL to POST to.

Deprecated since 2025-03-26 and disabled by default. A client opens the stream with GET; the
first event contains the URL for its messages. Each stream is one connection, as on stdio.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from msgspec import msgpack

from dovetail.core.principal import Principal, owner_of
from dovetail.errors import InvalidRequestError, StoreError
from dovetail.runtime.connection import Connection
from dovetail.runtime.engine import Engine
from dovetail.runtime.message_handler import MessageHandler
from dovetail.stores.cluster import Cluster
from dovetail.transports.asgi.in_flight import HttpCounts
from dovetail.transports.asgi.messages import (
    JSON,
    HttpRequest,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.asgi.reply import Reply
from dovetail.transports.streamable_http.legacy.cluster_messages import SseMessage, pack, unpack
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse

__all__ = ["OldSseEndpoint"]

_TOPIC = "sse message"
_UNKNOWN = "There is no such stream; open one with GET"
# Seconds that a POST waits for the client to read earlier messages from its stream.
_TIMEOUT = 30.0


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
        self._cluster = None if engine.shared is None else engine.shared.cluster
        if self._cluster is not None:
            self._cluster.on_request(_TOPIC, self._receive)

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
        if self._cluster is not None:
            # Messages may arrive at another process, which passes them on to this one.
            id = f"{self._cluster.node}.{id}"
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
        try:
            await reply.written()
        finally:
            watch.cancel()
            self._channels.pop(id, None)
            await connection.close()

    async def post(self, request: HttpRequest, body: bytes, principal: Principal | None) -> None:
        """Receive one message; the response is sent on the stream."""
        query = parse_qs(request.scope.get("query_string", b"").decode("latin-1"))
        id = query.get("session_id", [""])[0]
        node = id.partition(".")[0]
        if self._cluster is not None and node != self._cluster.node:
            refusal = await self._pass_on(self._cluster, node, SseMessage.of(id, body, principal))
        else:
            refusal = await self._refusal(id, principal)
        if refusal is not None:
            await _refuse(request, *refusal)
            return
        await respond(request.transmit, 202)
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
        self, cluster: Cluster, node: str, message: SseMessage
    ) -> tuple[int, str] | None:
        """Give a message to the process that has its stream; its refusal, if any."""
        try:
            answer = await cluster.request(node, _TOPIC, pack(message))
            return unpack(tuple[int, str] | None, answer)  # type: ignore[arg-type]
        except StoreError as error:
            # The process has ended, and the stream with it.
            return (404, _UNKNOWN) if cluster.problem is None else (503, error.message)

    async def _receive(self, _node: str, data: bytes) -> bytes:
        """Take a message that another process has received."""
        message = unpack(SseMessage, data)
        principal = message.principal()
        refusal = await self._refusal(message.id, principal)
        if refusal is None:
            self._hand_over(message.id, message.body, principal)
        return msgpack.encode(refusal)

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


async def _refuse(request: HttpRequest, status: int, text: str) -> None:
    error = codec.encode_error(None, InvalidRequestError(text))
    await respond(request.transmit, status, error, JSON)
