"""Servers side by side at one address: each has a path of its own, `/NAME/mcp`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import uvicorn

from dovetail.cli.serving import HttpRun, announce, parse_address
from dovetail.server import Server
from dovetail.transports.http_server import bind, serve_http
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.streamable_http.asgi import JSON, Receive, Scope, Transmit, respond

__all__ = ["HttpPlaces", "run_several"]

# As `serve_http` has it: clients reuse connections that are a minute old.
_KEEP_ALIVE = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlaces:
    """Servers by the path of their URL, and the address they share."""

    servers: dict[str, Server]
    runs: dict[str, HttpRun]
    host: str
    port: int

    @classmethod
    def of(
        cls,
        servers: dict[str, Server],
        address: str,
        allow_hosts: Sequence[str],
        allow_origins: Sequence[str],
    ) -> HttpPlaces:
        """From what the command line says; raises UsageError."""
        host, port = parse_address(address)
        runs = {
            name: HttpRun(
                host=host,
                port=port,
                path=f"/{name}/mcp" if name else "/mcp",
                allow_hosts=allow_hosts,
                allow_origins=allow_origins,
            )
            for name in servers
        }
        return cls(servers=servers, runs=runs, host=host, port=port)


def run_several(places: HttpPlaces) -> None:
    """Serve until a signal comes."""
    with bind(places.host, places.port) as listener:
        if len(places.servers) == 1:
            [(name, server)] = places.servers.items()
            asyncio.run(_serve_one(server, places.runs[name], listener))
        else:
            asyncio.run(_serve_several(places, listener))


async def _serve_one(server: Server, run: HttpRun, listener: socket.socket) -> None:
    await serve_http(
        server,
        listener=listener,
        on_ready=lambda port: announce(server.name, port, run),
        path=run.path,
        allowed_hosts=run.allow_hosts or None,
        allowed_origins=run.allow_origins,
    )


async def _serve_several(places: HttpPlaces, listener: socket.socket) -> None:
    apps = {
        run.path: places.servers[name].http_app(
            run.path,
            allowed_hosts=run.allow_hosts or None,
            allowed_origins=run.allow_origins,
        )
        for name, run in places.runs.items()
    }
    started: list[Server] = []
    try:
        for server in places.servers.values():
            await server.start()
            started.append(server)
        config = uvicorn.Config(
            _by_path(apps),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=2,
        )
        await _Uvicorn(config, apps, places, listener).serve([listener])
    finally:
        for app in apps.values():
            app.close()
        for server in started:
            await server.close()


def _by_path(apps: dict[str, HttpApp]) -> Any:
    async def choose(scope: Scope, receive: Receive, send: Transmit) -> None:
        app = apps.get(scope.get("path", ""))
        if app is None:
            await respond(send, 404, b'{"error":"no server has this path"}', JSON)
        else:
            await app(scope, receive, send)

    return choose


class _Uvicorn(uvicorn.Server):
    """Says where the servers are, and ends their streams before it waits for them."""

    def __init__(
        self,
        config: uvicorn.Config,
        apps: dict[str, HttpApp],
        places: HttpPlaces,
        listener: socket.socket,
    ) -> None:
        super().__init__(config)
        self._apps = apps
        self._places = places
        self._port: int = listener.getsockname()[1]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for name, run in self._places.runs.items():
            announce(self._places.servers[name].name, self._port, run)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for app in self._apps.values():
            app.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # uvicorn raises the signal once more when it has ended, and so dies of it.
        self.force_exit = self.should_exit
        self.should_exit = True
