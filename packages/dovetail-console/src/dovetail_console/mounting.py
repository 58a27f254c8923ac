"""Adds the console to the application of one or several servers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from dovetail.transports.asgi.messages import ServedApp
from dovetail.transports.streamable_http.app import HttpApp
from dovetail_console.app import ConsoleApp
from dovetail_console.console_site import ConsoleServer, ConsoleSite
from dovetail_console.traffic import Traffic
from dovetail_console.watching import WatchedApp

__all__ = ["add_console"]


def add_console(
    app: ServedApp,
    endpoints: Mapping[str, HttpApp],
    *,
    file: str | None = None,
    command: Sequence[str] = (),
    watch: bool = False,
    token: str | None = None,
    is_shared: bool = False,
) -> ConsoleApp:
    """The application with the console at `console/` below its mount point.

    `endpoints`: those of the application by the name of the server; an empty name stands for the
    server's own. `file` and `command`: where the server is, and what starts it on stdio. `token`:
    that of the page, if several processes share it.
    """
    servers = [
        ConsoleServer(
            name=name or endpoint.server.name,
            info=endpoint.server.identity.implementation,
            path=endpoint.path,
            auth=endpoint.auth,
            file=file,
            command=command,
        )
        for name, endpoint in endpoints.items()
    ]
    first = next(iter(endpoints.values())).options
    traffic = Traffic() if watch else None
    site = ConsoleSite(
        servers=servers,
        allowed_hosts=first["allowed_hosts"],
        allowed_origins=first["allowed_origins"],
        traffic=traffic,
        is_shared=is_shared,
        token=token or secrets.token_urlsafe(24),
    )
    if traffic is not None:
        app = WatchedApp(app, traffic, {each.path: each.auth for each in servers})
    return ConsoleApp(app, site, [endpoint.server.routes for endpoint in endpoints.values()])
