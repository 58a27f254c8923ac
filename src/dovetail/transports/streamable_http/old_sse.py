"""HTTP+SSE of 2024-11-05: a stream for everything the server says, and a URL to post to.

Deprecated since 2025-03-26 and off unless asked for. A client opens the stream with GET; the
first event tells it where to post its messages. Each stream is one connection, as on stdio.
"""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import parse_qs

from dovetail.errors import InvalidRequestError
from dovetail.runtime.connection import Connection
from dovetail.runtime.engine import Engine
from dovetail.transports.streamable_http.asgi import (
    JSON,
    HttpRequest,
    respond,
    watch_for_disconnect,
)
from dovetail.transports.streamable_http.reply import Reply
from dovetail.wire import codec
from dovetail.wire.framing import encode_sse

__all__ = ["OldSseEndpoint"]


class _Channel:
    """One stream, and the connection that speaks on it."""

    __slots__ = ("connection", "principal", "reply")

    def __init__(self, connection: Connection, reply: Reply, principal: str | None) -> None:
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

    async def get(self, request: HttpRequest, scope: Any, principal: str | None) -> None:
        """Open a stream and keep it until one side goes away."""
        if len(self._channels) >= self._max_streams:
            text = f"The server has {self._max_streams} streams open and takes no more now."
            error = codec.encode_error(None, InvalidRequestError(text))
            await respond(request.transmit, 503, error, JSON)
            return
        reply = Reply(request.transmit)
        connection = Connection(
            self._engine, reply.send, drain=reply.drain, scope=scope, principal=principal
        )
        id = secrets.token_urlsafe(32)
        self._channels[id] = _Channel(connection, reply, principal)
        # sse.endpoint-event (2024-11-05 basic/transports): the first thing on the stream
        root = request.scope.get("root_path", "")
        url = f"{root}{self.messages_path}?session_id={id}"
        reply.raw(encode_sse(url.encode(), event=b"endpoint"))
        watch = watch_for_disconnect(request.receive, reply.stop)
        try:
            await reply.written()
        finally:
            watch.cancel()
            del self._channels[id]
            await connection.close()

    async def post(self, request: HttpRequest, body: bytes, principal: str | None) -> None:
        """Take one message; what there is to say to it goes out on the stream."""
        query = parse_qs(request.scope.get("query_string", b"").decode("latin-1"))
        channel = self._channels.get(query.get("session_id", [""])[0])
        if channel is None or channel.principal != principal:
            error = codec.encode_error(None, InvalidRequestError("There is no such stream"))
            await respond(request.transmit, 404, error, JSON)
            return
        await respond(request.transmit, 202)
        channel.connection.receive(body)

    def close(self) -> None:
        """End all streams."""
        for channel in self._channels.values():
            channel.reply.stop()
