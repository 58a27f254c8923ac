"""Serves one server at `/mcp`, or several on one port at `/NAME/mcp`."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.cli.applications import AppEndpoint
from dovetail.cli.consoles import add_console
from dovetail.cli.run_http import (
    announce,
    announce_console,
    describe,
    make_app,
    make_runner,
    serve_until_signal,
)
from dovetail.cli.settings import HttpSettings
from dovetail.errors import UsageError
from dovetail.server import Server
from dovetail.transports.asgi.messages import ServedApp
from dovetail.transports.http_server import bind
from dovetail.transports.path_router import PathRouter

__all__ = ["run_many"]


def run_many(servers: Mapping[str, Server], run: HttpSettings) -> None:
    """Serve until a signal arrives; a single server may have an empty name, for `/mcp`."""
    if len(servers) > 1 and run.guard.issuer is not None:
        # auth.prm.resource-matches: a token is for one URL
        raise UsageError(
            "--issuer and --resource work with one server only; run each server separately"
        )
    paths = {name: f"/{name}/mcp" if name else run.path for name in servers}
    endpoints = [
        AppEndpoint(paths[name], make_app(server, paths[name], run.guard.build(), run))
        for name, server in servers.items()
    ]

    app: ServedApp = endpoints[0].app if len(endpoints) == 1 else PathRouter(dict(endpoints))
    served = {
        name: (server, endpoint.app)
        for (name, server), endpoint in zip(servers.items(), endpoints, strict=True)
    }
    with_console = add_console(app, served, run)

    def announce_all(port: int) -> None:
        for endpoint in endpoints:
            announce(describe(endpoint), port, run)
        if with_console is not None:
            announce_console(port, run)

    with make_runner() as runner:
        serve_until_signal(
            with_console or app,
            list(servers.values()),
            bind(run.host, run.port),
            run,
            announce_all,
            runner=runner,
        )
