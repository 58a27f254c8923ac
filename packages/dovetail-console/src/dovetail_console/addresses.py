"""The URL at which the process of the console itself reaches an endpoint."""

from __future__ import annotations

from urllib.parse import quote

from dovetail.transports.asgi.messages import HttpRequest
from dovetail.transports.asgi.paths import mount_point
from dovetail_console.console_site import ConsoleServer, ConsoleSite
from dovetail_console.requests import RefusedError, public_url

__all__ = ["internal_url"]


def internal_url(request: HttpRequest, site: ConsoleSite, server: ConsoleServer) -> str:
    """The URL of a server's endpoint; raises RefusedError.

    A caller chooses the Host header, so it is used only if the operator has listed the hosts.
    Otherwise the URL has the address that the request arrived at.
    """
    path = server.path or "/"
    if site.allowed_hosts is not None and "*" not in site.allowed_hosts:
        return public_url(request, path)
    address = request.scope.get("server")
    if not address or address[1] is None:
        raise RefusedError(501, "The server has no address that this process can connect to")
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    scheme = request.scope.get("scheme", "http")
    return f"{scheme}://{host}:{address[1]}{quote(mount_point(request.scope) + path)}"
