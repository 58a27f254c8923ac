"""Serves `server.http_app()` with uvicorn.

This module does not depend on the protocol. It changes two uvicorn defaults for MCP: streams
stay open indefinitely, so shutdown ends them explicitly, and idle connections are kept longer.

Importing this module imports uvicorn; `dovetail.transports` does so on first use only.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import socket
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from types import FrameType
from typing import Any, Unpack

import uvicorn

from dovetail.core.options import HttpParser
from dovetail.errors import TransportError
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.server import HttpAppOptions, Server
from dovetail.transports.asgi.messages import (
    Receive,
    Scope,
    ServedApp,
    Transmit,
    respond_to_cancelled,
)
from dovetail.transports.h11_protocol import TimedH11Protocol
from dovetail.transports.wrappers import OuterApp

__all__ = [
    "CLOSE",
    "Acceptor",
    "HttpParser",
    "bind",
    "close_after_response",
    "serve_app",
    "serve_http",
]

CLOSE = (b"connection", b"close")


def close_after_response(connection: Any) -> None:
    """Announce the end of a connection of uvicorn with its next response.

    Later requests get the header from the default headers of the server. A response whose head is
    sent already leaves the connection open for one more request.
    """
    connection.takes_fast_path = False
    # None before the first request; a WebSocket has none at all.
    cycle = getattr(connection, "cycle", None)
    if cycle is not None and not cycle.response_started:
        cycle.default_headers = [*cycle.default_headers, CLOSE]
        cycle.keep_alive = False


# Seconds that an idle connection is kept. Clients reuse idle connections and fail if the server
# closes one at that moment; nginx keeps 75 seconds, uvicorn only 5.
_KEEP_ALIVE = 75
# Seconds that idle connections are kept when the shutdown begins: after SIGTERM, so that a client
# that keeps one learns from its next response that it is closed, and after any other signal, for
# requests that are on their way.
_DRAIN_SECONDS = 1.0
_ARRIVAL_SECONDS = 0.1
_DRAIN_CHECK_SECONDS = 0.01
# Seconds for cancelled tasks to end.
_CANCEL_SECONDS = 0.2
# Connections that wait until they are accepted.
_BACKLOG = 2048
_HAS_HTTPTOOLS = find_spec("httptools") is not None


async def serve_http(
    server: Server,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    listener: socket.socket | None = None,
    parser: HttpParser = "auto",
    on_ready: Callable[[int], None] | None = None,
    path: str = "/mcp",
    guard: AuthBackend | None = None,
    **options: Unpack[HttpAppOptions],
) -> None:
    """Serve over HTTP until a signal arrives or the task is cancelled.

    Also accepts the keyword arguments of `server.http_app()`. Port 0 selects a free port.
    `on_ready` is called with the port when the server accepts requests. A bound `listener` is
    used instead of host and port. Raises TransportError if the address is not available.
    """
    app = server.http_app(path, guard=guard, **options)
    own = bind(host, port) if listener is None else listener
    await serve_app(app, [server], own, parser=parser, on_ready=on_ready)


async def serve_app(
    app: ServedApp,
    servers: Sequence[Server],
    listener: socket.socket,
    *,
    parser: HttpParser = "auto",
    access_log: bool = False,
    on_ready: Callable[[int], None] | None = None,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve an application; starts and closes its servers, and closes the listener.

    The servers in an `OuterApp` start in its lifespan or with their first request. With
    `access_log`, each request is logged by the logger "uvicorn.access", and none takes the fast
    path. `on_stop` is called in the signal handler when the shutdown begins.
    """
    acceptor = Acceptor(listener)
    with contextlib.closing(acceptor):
        async with contextlib.AsyncExitStack() as started:
            is_outer = isinstance(app, OuterApp)
            for server in servers:
                if not is_outer:
                    await server.start()
                started.push_async_callback(server.close)
            # Runs first at shutdown: servers wait for open streams, so end these before.
            started.callback(app.close)
            app.serve_directly()
            grace = max((server.options.grace for server in servers), default=0.0)
            config = uvicorn.Config(
                _with_shutdown_response(app),
                http=_protocol(parser, app),
                ws="auto" if is_outer else "none",
                # Servers are started here: on a failure uvicorn would log it and exit the process.
                lifespan="auto" if is_outer else "off",
                log_config=None,
                access_log=access_log,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE,
                # For requests whose body is incomplete; calls end after the grace period.
                timeout_graceful_shutdown=math.ceil(grace) + 1,
            )
            running = _UvicornServer(config, app, acceptor, grace, on_ready, on_stop)
            try:
                await running.serve([])
            except asyncio.CancelledError:
                if running.started:
                    await running.shutdown()
                raise


def _protocol(parser: HttpParser, app: ServedApp) -> Any:
    """The HTTP protocol class for uvicorn."""
    if parser == "h11" or (parser == "auto" and not _HAS_HTTPTOOLS):
        return TimedH11Protocol
    from dovetail.transports.fast_protocol import fast_protocol  # noqa: PLC0415 - httptools

    return fast_protocol(app)


def bind(host: str, port: int, *, share: bool = False) -> socket.socket:
    """A listening socket; raises TransportError if the address is not available.

    Several sockets can have one address if `share` is true for all of them. Such a socket does not
    listen yet; the system divides connections among those that do.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        # asyncio sets TCP_NODELAY only on sockets created with an explicit protocol; without it,
        # each event of a stream waits for the acknowledgement of the previous one.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise TransportError(f"Cannot listen on {host}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if share:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        if not share:
            listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise TransportError(f"Cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


class Acceptor:
    """Accepts the connections of a listening socket, and loses none when it stops."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]
        self._factory: Callable[[], asyncio.Protocol] | None = None
        self._server: asyncio.Server | None = None

    async def open(self, factory: Callable[[], asyncio.Protocol]) -> None:
        """Serve new connections with the protocols that `factory` makes."""
        self._factory = factory
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(factory, sock=self._listener, backlog=_BACKLOG)

    async def stop(self) -> None:
        """Stop accepting; connections that wait already are served."""
        if self._factory is None:
            # It was cancelled before it began.
            self.close()
            return
        # The system resets the connections in the queue of a listening socket that is closed. So
        # a copy of the socket is closed last, right after its queue was found empty.
        waiting = []
        with self._listener.dup() as copy, contextlib.suppress(BlockingIOError):
            copy.setblocking(False)
            self.close()
            # The event loop closes its socket in the next turn.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            while True:
                waiting.append(copy.accept()[0])
        for connection in waiting:
            await self._adopt(connection, self._factory)

    def close(self) -> None:
        """Stop at once; may be called twice."""
        if self._server is not None:
            self._server.close()
        self._listener.close()

    async def _adopt(
        self, connection: socket.socket, factory: Callable[[], asyncio.Protocol]
    ) -> None:
        connection.setblocking(False)
        # The client may be gone already.
        with contextlib.suppress(OSError):
            # Without it, each event of a stream waits for the acknowledgement of the previous one.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await asyncio.get_running_loop().connect_accepted_socket(factory, connection)
            return
        connection.close()


def _with_shutdown_response(
    app: ServedApp,
) -> Callable[[Scope, Receive, Transmit], Awaitable[None]]:
    """Wrap the application to respond with 503 if a call outlasts the graceful shutdown."""

    async def serve(scope: Scope, receive: Receive, send: Transmit) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            if scope["type"] != "http":
                raise
            await respond_to_cancelled(send)

    return serve


class _UvicornServer(uvicorn.Server):
    """Gives calls a grace period at shutdown, and does not raise signals again."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: ServedApp,
        acceptor: Acceptor,
        grace: float,
        on_ready: Callable[[int], None] | None,
        on_stop: Callable[[], None] | None,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._acceptor = acceptor
        self._grace = grace
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._drain_seconds = _ARRIVAL_SECONDS

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            if not self.lifespan.should_exit:
                raise
        # Old versions of uvicorn return, newer ones exit. Both have logged the reason.
        if self.lifespan.should_exit:
            raise TransportError("The lifespan of the ASGI application failed to start")
        await self._acceptor.open(self._make_protocol)
        if self._on_ready is not None:
            self._on_ready(self._acceptor.port)

    def _make_protocol(self) -> asyncio.Protocol:
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        began = asyncio.get_running_loop().time()
        await self._acceptor.stop()
        await self._drain(began + min(self._drain_seconds, self._grace))
        left = max(0.0, began + self._grace - asyncio.get_running_loop().time())
        ending = asyncio.ensure_future(self._app.finish_shutdown(left))
        await super().shutdown(sockets)
        if self.force_exit:
            ending.cancel()
        await asyncio.wait([ending])
        # uvicorn cancels these tasks but does not wait for them.
        if self.server_state.tasks:
            await asyncio.wait(set(self.server_state.tasks), timeout=_CANCEL_SECONDS)

    async def _drain(self, deadline: float) -> None:
        """Serve requests on open connections, and close each with its next response."""
        state = self.server_state
        state.default_headers = [*state.default_headers, CLOSE]
        for connection in tuple(state.connections):
            close_after_response(connection)
        loop = asyncio.get_running_loop()
        while True:
            # Again and again: a client may open a new stream.
            self._app.begin_shutdown()
            if not state.connections or self.force_exit or loop.time() >= deadline:
                return
            await asyncio.sleep(_DRAIN_CHECK_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._on_stop is not None and not self.should_exit:
            self._on_stop()
        if sig == signal.SIGTERM:
            self._drain_seconds = _DRAIN_SECONDS
        # uvicorn would raise the signal again after shutdown, which would kill the process.
        self.force_exit = self.should_exit
        self.should_exit = True
