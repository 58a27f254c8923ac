"""A process of its own that serves HTTP: uvicorn around `server.http_app()`.

Nothing here knows the protocol. What uvicorn is told differs from its defaults where MCP
differs from the web: streams stay open for as long as a client likes, so a server that is to
end must end them itself, and a client that comes back after a minute finds its connection.

Importing this module imports uvicorn; `dovetail.transports` does so on first use only.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from importlib.util import find_spec
from types import FrameType
from typing import Any, Literal, TypeAlias, Unpack

import uvicorn

from dovetail.errors import TransportError
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.server import HttpAppOptions, Server
from dovetail.transports.asgi.messages import JSON, Receive, Scope, Transmit, respond
from dovetail.transports.path_router import PathRouter
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["HttpParser", "bind", "serve_app", "serve_http"]

HttpParser: TypeAlias = Literal["auto", "httptools", "h11"]

# Seconds an idle connection is kept. Clients reuse one that is seconds old and fail if it is
# closed under them; nginx keeps 75, uvicorn only 5.
_KEEP_ALIVE = 75
_BACKLOG = 2048
_LAST_WORDS = 0.02
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
    """Serve over HTTP until a signal comes or the task is cancelled.

    Takes the keywords of `server.http_app()` as well.
    Port 0 takes any free one. `on_ready` is called with the port once requests are answered.
    A `listener` that is bound already is used instead of host and port. Raises TransportError
    where the address cannot be had.
    """
    app = server.http_app(path, guard=guard, **options)
    own = bind(host, port) if listener is None else listener
    await serve_app(app, [server], own, parser=parser, on_ready=on_ready)


async def serve_app(
    app: HttpApp | PathRouter,
    servers: Sequence[Server],
    listener: socket.socket,
    *,
    parser: HttpParser = "auto",
    on_ready: Callable[[int], None] | None = None,
) -> None:
    """Serve an application and start and close the servers behind it; takes the listener over."""
    with listener:
        async with contextlib.AsyncExitStack() as started:
            for server in servers:
                await server.start()
                started.push_async_callback(server.close)
            # First of all at the end: servers would wait for streams that nobody has ended.
            started.callback(app.close)
            config = uvicorn.Config(
                _unless_ended(app),
                http=_protocol(parser, app),
                ws="none",
                # Started and closed here: uvicorn would log a failure and end the process.
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=_grace_of(servers),
            )
            running = _UvicornServer(config, app, listener, on_ready)
            try:
                await running.serve([listener])
            except asyncio.CancelledError:
                if running.started:
                    await running.shutdown([listener])
                raise


def _grace_of(servers: Sequence[Server]) -> int:
    return max(1, *(round(server.options.grace) for server in servers), 1)


def _protocol(parser: HttpParser, app: HttpApp | PathRouter) -> Any:
    """What uvicorn reads HTTP with."""
    if parser == "h11" or not _HAS_HTTPTOOLS:
        return parser
    from dovetail.transports.fast_protocol import fast_protocol  # noqa: PLC0415 - httptools

    return fast_protocol(app)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; raises TransportError where the address cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        # asyncio sets TCP_NODELAY only on a socket that was made with its protocol by name;
        # without it every event of a stream would wait for the acknowledgement of the last.
        listener = socket.socket(family, kind, socket.IPPROTO_TCP)
    except OSError as error:
        raise TransportError(f"Cannot listen on {host}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise TransportError(f"Cannot listen on {host}:{port}: {error.strerror}") from None
    return listener


def _unless_ended(
    app: HttpApp | PathRouter,
) -> Callable[[Scope, Receive, Transmit], Awaitable[None]]:
    """The application, with an answer for calls that have used up their grace."""

    async def serve(scope: Scope, receive: Receive, send: Transmit) -> None:
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            # Only uvicorn cancels, and only at the end; what it would log is a crash of ours.
            # A stream that has begun writes its own end, and then refuses the answer here.
            await asyncio.sleep(_LAST_WORDS)
            with contextlib.suppress(RuntimeError):
                await respond(send, 503, b'{"error":"the server is ending"}', JSON)

    return serve


class _UvicornServer(uvicorn.Server):
    """Ends streams before it waits for them, and leaves a signal at that."""

    def __init__(
        self,
        config: uvicorn.Config,
        app: HttpApp | PathRouter,
        listener: socket.socket,
        on_ready: Callable[[int], None] | None,
    ) -> None:
        super().__init__(config)
        self._app = app
        self._port: int = listener.getsockname()[1]
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready(self._port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.close()
        await super().shutdown(sockets)
        # Those that it has cancelled and does not wait for.
        if self.server_state.tasks:
            await asyncio.wait(set(self.server_state.tasks), timeout=1)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn raises the signal once more when it has ended, and so dies of it.
        self.force_exit = self.should_exit
        self.should_exit = True
