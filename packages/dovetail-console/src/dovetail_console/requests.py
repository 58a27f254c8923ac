"""What the console shows, and the requests to it: their checks, their addresses, their refusal."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote

import msgspec

from dovetail.auth import Principal

if TYPE_CHECKING:
    from dovetail.client.auth import TokenStore
    from dovetail.transports import HttpApp, HttpRequest
    from dovetail_console.traffic import Traffic

__all__ = [
    "ApiRequest",
    "ConsoleServer",
    "ConsoleSite",
    "RefusedError",
    "SignInPlace",
    "check_address",
    "check_caller",
    "check_token",
    "find_address",
    "has_token",
    "internal_url",
    "prefers_html",
    "public_url",
]

T = TypeVar("T")
_TOKEN = b"x-console-token"
_PAGE = b"x-console-page"
_PAGE_URL = re.compile(r"(?P<mount>https?://(?P<host>[^/?#\s]+)(?:/[^?#\s]*)?)/console/")
_NO_GUARD = (
    "The console is available on a loopback address only, or with a guard that authenticates "
    "callers: add --keys or --issuer, or pass guard= to http_app()"
)


# -- what the console shows --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPlace:
    """Where the page signs in for a target that is not served here, and where the login is kept."""

    url: str
    store: TokenStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleServer:
    """One server on the page."""

    name: str
    app: HttpApp
    # Revision -> path, if each revision has an endpoint of its own (a proxy for a target).
    endpoints: Mapping[str, str] = field(default_factory=dict)
    # The file that has the server, as on the command line.
    file: str | None = None
    # The command that starts it on stdio, for clients that start servers.
    command: Sequence[str] = ()
    # For a target that is not served here: its URL, or empty if it has none.
    url: str | None = None
    # What to pass to `dovetail call`, and the words for `dovetail check`; empty: the URL.
    target: str = ""
    check_words: Sequence[str] = ()
    sign_in: SignInPlace | None = None

    @property
    def path(self) -> str:
        """The path of its endpoint below the mount point of the application."""
        return self.app.path or "/"

    @property
    def requires_auth(self) -> bool:
        """Whether anonymous callers are refused."""
        return self.app.auth is not None and self.app.auth.requires_auth


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSite:
    """All servers of one address, and the settings of the console."""

    servers: Sequence[ConsoleServer]
    mode: Literal["server", "target"] = "server"
    traffic: Traffic | None = None
    # Several processes answer at this address, so a request may not come back to this one.
    is_shared: bool = False
    # Sent with every request to the API. Another site cannot read it.
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    # Tells a process from the one before it, which may have had the same token.
    process: str = field(default_factory=lambda: secrets.token_hex(8))


# -- requests ----------------------------------------------------------------------------------


class RefusedError(Exception):
    """A request that is refused: status, text and headers."""

    def __init__(
        self, status: int, text: str, headers: tuple[tuple[bytes, bytes], ...] = ()
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request to the API that has passed all checks."""

    request: HttpRequest
    # The decoded body of a POST.
    body: Any
    site: ConsoleSite

    @property
    def server(self) -> ConsoleServer:
        """The server that the body names; raises RefusedError."""
        name = self.body.get("server")
        for server in self.site.servers:
            if server.name == name:
                return server
        known = ", ".join(repr(each.name) for each in self.site.servers)
        raise RefusedError(400, f"There is no server {name!r}; expected one of {known}")

    def read(self, to: type[T], expected: str) -> T:
        """The body as an object of this type; raises RefusedError."""
        try:
            return msgspec.convert(self.body, to)
        except msgspec.ValidationError as error:
            raise RefusedError(400, f"Expected {expected}: {error}") from None


def public_url(request: HttpRequest, path: str = "") -> str:
    """The URL of a path below the mount point, as the browser sees it.

    The page says where it is: behind a reverse proxy the process knows neither the scheme nor what
    the proxy has removed from the path.
    """
    page = _PAGE_URL.fullmatch(request.headers.get(_PAGE, b"").decode("latin-1"))
    if page is not None and page["host"].encode("latin-1") == request.headers.get(b"host"):
        return page["mount"] + quote(path)
    return _host_url(request, path)


def _host_url(request: HttpRequest, path: str) -> str:
    scheme = request.scope.get("scheme", "http")
    host = request.headers.get(b"host", b"").decode("latin-1")
    return f"{scheme}://{host}{quote(request.mount_point + path)}"


def internal_url(request: HttpRequest, server: ConsoleServer) -> str:
    """The URL at which the process itself reaches an endpoint; raises RefusedError.

    A caller chooses the Host header, so it is used only if the operator has listed the hosts.
    Otherwise the URL has the address that the request arrived at.
    """
    allowed = server.app.options["allowed_hosts"]
    if allowed is not None and "*" not in allowed:
        return _host_url(request, server.path)
    address = request.scope.get("server")
    if not address or address[1] is None:
        raise RefusedError(501, "The server has no address that this process can connect to")
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    scheme = request.scope.get("scheme", "http")
    return f"{scheme}://{host}:{address[1]}{quote(request.mount_point + server.path)}"


def prefers_html(request: HttpRequest) -> bool:
    """Whether a browser sends the request for a page; an MCP client never asks for HTML."""
    accept = request.headers.get(b"accept", b"").lower()
    ranges = {part.partition(b";")[0].strip() for part in accept.split(b",")}
    return (
        request.scope["method"] in ("GET", "HEAD")
        and b"text/html" in ranges
        and b"text/event-stream" not in ranges
    )


def check_address(request: HttpRequest, site: ConsoleSite) -> None:
    """Apply the Host and Origin rules of the servers, to pages and files as well.

    Raises RefusedError, as the other checks do.
    """
    for server in site.servers:
        refusal = server.app.find_refusal(request)
        if refusal is not None:
            raise RefusedError(*refusal)
    if not (all(server.requires_auth for server in site.servers) or request.is_local):
        raise RefusedError(403, _NO_GUARD)


def has_token(request: HttpRequest, site: ConsoleSite) -> bool:
    """Whether the request has the token, which only the page knows."""
    given = request.headers.get(_TOKEN, b"")
    return hmac.compare_digest(given, site.token.encode())


def check_token(request: HttpRequest, site: ConsoleSite) -> None:
    """Refuse what a page of another site could send: it cannot read the token."""
    if request.headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
        raise RefusedError(403, "The console takes requests from its own page only")
    if not has_token(request, site):
        raise RefusedError(403, "The X-Console-Token is missing or out of date; reload the page")


async def check_caller(request: HttpRequest, site: ConsoleSite) -> str:
    """Apply the guard of every server, as for requests to the MCP endpoints.

    Returns a name for the caller: the id of the principal, or the address.
    """
    caller = f"address {find_address(request)}"
    for server in site.servers:
        found = await server.app.identify(request)
        if isinstance(found, Principal):
            caller = f"principal {found.id}"
        elif found is not None:
            raise RefusedError(*found)
    return caller


def find_address(request: HttpRequest) -> str:
    """The IP address of the client; empty for a Unix socket."""
    client = request.scope.get("client")
    return str(client[0]) if client else ""
