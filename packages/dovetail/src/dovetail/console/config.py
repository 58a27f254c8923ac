"""`GET api/config`: the servers on the page, and what the console can do with them."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

from dovetail.console.client_snippets import make_snippets
from dovetail.console.console_site import ConsoleServer, ConsoleSite
from dovetail.console.requests import public_url
from dovetail.console.revision_traits import describe_traits
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.spec.revisions import REVISIONS
from dovetail.transports.asgi.messages import HttpRequest
from dovetail.transports.asgi.paths import mount_point
from dovetail.wire import codec

__all__ = ["INSTALL_CHECK", "describe_guard", "describe_site", "find_resource", "has_check"]

INSTALL_CHECK = "pip install dovetail-check"
_METADATA = "/.well-known/oauth-protected-resource"
_AUTHORIZATION = "authorization"


def describe_site(site: ConsoleSite, request: HttpRequest) -> dict[str, Any]:
    """The configuration of the page."""
    return {
        "version": version("dovetail-mcp"),
        "mode": site.mode,
        "servers": [_describe_server(server, request) for server in site.servers],
        "watch": site.traffic is not None,
        "check": True if has_check() else INSTALL_CHECK,
        "revisions": [revision.date for revision in reversed(REVISIONS)],
        "traits": {each.date: describe_traits(each, version("dovetail-mcp")) for each in REVISIONS},
        "confirm": True,
        # The page reads everything again if it changes; workers would change it all the time.
        "process": None if site.is_shared else site.process,
    }


def has_check() -> bool:
    """Whether dovetail-check is installed."""
    return find_spec("dovetail_check") is not None


def _describe_server(server: ConsoleServer, request: HttpRequest) -> dict[str, Any]:
    url = public_url(request, server.path or "/") if server.url is None else server.url
    guard = describe_guard(server)
    return {
        "name": server.name,
        "title": server.info.title or server.name,
        "version": server.info.version,
        "endpoint": _path(request, server.path or "/"),
        "endpoints": {date: _path(request, path) for date, path in server.endpoints.items()},
        "guard": guard,
        "target": server.target or url,
        "clients": [
            each._asdict()
            for each in make_snippets(
                server.info.name,
                # A client uses the target itself, not the page's way to it.
                url,
                server.command,
                guard["key_header"] if guard["keys"] else None,
            )
        ],
    }


def _path(request: HttpRequest, path: str) -> str:
    return quote(mount_point(request.scope) + path)


def describe_guard(server: ConsoleServer) -> dict[str, Any]:
    """Which credentials the server takes."""
    auth = server.auth
    resource = server.sign_in is not None or find_resource(server) is not None
    if auth is None:
        return {"keys": False, "key_header": "Authorization", "oauth": resource}
    header = _key_header(auth)
    return {
        # A guard with OAuth alone takes tokens in the same header, so the field is of use too.
        "keys": bool(auth.credential_headers),
        "key_header": header,
        "oauth": resource,
    }


def _key_header(auth: AuthBackend) -> str:
    own = sorted(
        name.decode("latin-1")
        for name in auth.credential_headers
        if name.decode("latin-1") not in (_AUTHORIZATION, "dpop")
    )
    return own[0].title() if own else "Authorization"


def find_resource(server: ConsoleServer) -> str | None:
    """The URL that access tokens for the server are made for; None without OAuth."""
    page = None if server.auth is None else server.auth.page(_METADATA, server.path)
    if page is None:
        return None
    resource = codec.decode_json(page.body).get("resource")
    return resource if isinstance(resource, str) else None
