"""Servers at one address: one at `/mcp`, or several side by side at `/NAME/mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from dovetail.cli.collecting import collect_seldom
from dovetail.cli.serving import HttpRun, announce, find_loop
from dovetail.errors import UsageError
from dovetail.server import Server
from dovetail.transports.http_server import bind, serve_app
from dovetail.transports.path_router import PathRouter

__all__ = ["run_several"]


def run_several(servers: Mapping[str, Server], run: HttpRun) -> None:
    """Serve until a signal comes; the name of an only server may be empty, for `/mcp`."""
    if len(servers) > 1 and run.guard.issuer is not None:
        # auth.prm.resource-matches: a token is for one of them, and they have a URL each
        raise UsageError("--issuer and --resource are for one server; serve them one by one")
    places = {name: f"/{name}/mcp" if name else run.path for name in servers}
    apps = {
        places[name]: server.http_app(
            places[name],
            guard=run.guard.make(),
            allowed_hosts=run.allow_hosts or None,
            allowed_origins=run.allow_origins,
            stateless=run.stateless,
        )
        for name, server in servers.items()
    }

    def tell(port: int) -> None:
        for name, server in servers.items():
            announce(server.name, port, run, places[name])

    only = next(iter(apps.values())) if len(apps) == 1 else None
    serving = serve_app(
        only or PathRouter(apps),
        list(servers.values()),
        bind(run.host, run.port),
        parser=run.parser,
        on_ready=tell,
    )
    collect_seldom()
    with asyncio.Runner(loop_factory=find_loop()) as runner:
        runner.run(serving)
