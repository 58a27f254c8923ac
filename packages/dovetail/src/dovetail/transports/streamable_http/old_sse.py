"""HTTP+SSE of 2024-11-05: a stream for everything the server says, and a URL to post to.

Deprecated since 2025-03-26 and off unless asked for. A client opens the stream with GET; the
first event tells it where to post its messages. Each stream is one connection, as on stdio.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from dovetail.core.principal import Principal, owner_of
from dovetail.errors import InvalidRequestError
from dovetail.runtime.connection import Connection
from dovetail.runtime.engine import Engine
from dovetail.transports.asgi.counts import HttpCounts
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

# Seconds that a message waits for its client to read what was said before.
_PATIENCE = 30.0


class _Channel:
    """One stream, and the connection that speaks on it."""

    __slots__ = ("connection", "principal", "reply")

    def __init__(self, connection: Connection, reply: Reply, principal: Principal | None) -> None:
        self.connection = connection
        self.reply = reply
        self.principal = principal


class OldSseEndpoint:
    """Serves clients that know nothing newer."""

    def __init__(self, engine: Engine, *, path: str, max_streams: int) -> None:
        self.path = path
        self.messages_path = f"{path}/messages"
        self._engine = engine
        self._max_streams = max_streams
        self._channels: dict[str, _Channel] = {}

    async def get(self, request: HttpRequest, scope: Any, principal: Principal | None) -> None:
        """Open a stream and keep it until one side goes away."""
        if len(self._channels) >= self._max_streams:
            text = f"The server has {self._max_streams} streams open and takes no more now."
            await _refuse(request, 503, text)
            return
        reply = Reply(request.transmit)
        connection = Connection(
            self._engine,
            partial(reply.event, is_answer=True),
            # Notifications are dropped for a client that does not read.
            send_notification=reply.event,
            drain=reply.drain,
            scope=scope,
            principal=principal,
        )
        id = secrets.token_urlsafe(32)
        self._channels[id] = _Channel(connection, reply, principal)
        # sse.endpoint-event (2024-11-05 basic/transports): the first thing on the stream
        root = request.scope.get("root_path", "")
        url = f"{root}{self.messages_path}?session_id={id}"
        reply.raw(encode_sse(url.encode(), event=b"endpoint"))

        def hang_up() -> None:
            # At once: what waits to be said to this client must not be taken any more.
            self._channels.pop(id, None)
            reply.stop()

        watch = watch_for_disconnect(request.receive, hang_up)
        try:
            await reply.written()
        finally:
            watch.cancel()
            self._channels.pop(id, None)
            await connection.close()

    async def post(self, request: HttpRequest, body: bytes, principal: Principal | None) -> None:
        """Take one message; what there is to say to it goes out on the stream."""
        query = parse_qs(request.scope.get("query_string", b"").decode("latin-1"))
        id = query.get("session_id", [""])[0]
        channel = self._channels.get(id)
        if channel is not None and owner_of(channel.principal) == owner_of(principal):
            try:
                # Answers are never dropped, so who does not read them gets no more of them.
                async with asyncio.timeout(_PATIENCE):
                    await channel.reply.drain()
            except TimeoutError:
                await _refuse(request, 503, "The stream is not read, so nothing can be answered")
                return
            if id in self._channels:
                await respond(request.transmit, 202)
                # What this message may do is what its own sender may, not who opened the stream.
                channel.connection.principal = principal
                channel.connection.receive(body)
                return
        await _refuse(request, 404, "There is no such stream")

    @property
    def counts(self) -> HttpCounts:
        """What is held for clients now."""
        return HttpCounts(streams=len(self._channels))

    def close(self) -> None:
        """End all streams."""
        for channel in self._channels.values():
            channel.reply.stop()


async def _refuse(request: HttpRequest, status: int, text: str) -> None:
    error = codec.encode_error(None, InvalidRequestError(text))
    await respond(request.transmit, status, error, JSON)
