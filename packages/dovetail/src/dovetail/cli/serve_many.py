"""Serves one server at `/mcp`, or several on one port at `/NAME/mcp`."""

from __future__ import annotations

from collections.abc import Mapping

from dovetail.cli.applications import Endpoint
from dovetail.cli.run_http import (
    HttpSettings,
    announce,
    describe,
    make_app,
    make_runner,
    serve_until_signal,
)
from dovetail.errors import UsageError
from dovetail.server import Server
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
        Endpoint(paths[name], make_app(server, paths[name], run.guard.build(), run))
        for name, server in servers.items()
    ]

    def announce_all(port: int) -> None:
        for endpoint in endpoints:
            announce(describe(endpoint), port, run)

    only = endpoints[0].app if len(endpoints) == 1 else None
    with make_runner() as runner:
        serve_until_signal(
            only or PathRouter(dict(endpoints)),
            list(servers.values()),
            bind(run.host, run.port),
            run,
            announce_all,
            runner=runner,
        )
