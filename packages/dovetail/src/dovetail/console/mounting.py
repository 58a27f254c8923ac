"""`server.http_app(console=True)`: the console of one server, mounted anywhere."""

from __future__ import annotations

from dovetail.console.app import ConsoleApp
from dovetail.console.console_site import ConsoleServer, ConsoleSite
from dovetail.core.options import HttpAppOptions
from dovetail.features.custom_routes import CustomRoutes
from dovetail.spec.models import Implementation
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["mount_console"]


def mount_console(
    app: HttpApp, info: Implementation, options: HttpAppOptions, routes: CustomRoutes
) -> ConsoleApp:
    """The application of a server with the console at `console/` below the same mount point."""
    server = ConsoleServer(name=info.name, info=info, path=app.path, auth=app.auth)
    site = ConsoleSite(
        servers=[server],
        allowed_hosts=options["allowed_hosts"],
        allowed_origins=options["allowed_origins"],
    )
    return ConsoleApp(app, site, [routes])
