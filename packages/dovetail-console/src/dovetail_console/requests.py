"""Requests to the console: their path, the address they were sent to, and their refusal."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from dovetail.core.principal import Principal
from dovetail.net.addresses import is_loopback
from dovetail.runtime.auth_backend import AuthRejection
from dovetail.transports.asgi.messages import HttpRequest, Scope
from dovetail.transports.asgi.paths import mount_point
from dovetail.transports.streamable_http.framing import framing_refusal, head_refusal
from dovetail.transports.streamable_http.security import RequestGuard
from dovetail_console.console_site import ConsoleServer, ConsoleSite

__all__ = [
    "ApiRequest",
    "RefusedError",
    "RequestChecks",
    "prefers_html",
    "public_url",
]

T = TypeVar("T")
_SINGLE = (b"content-type", b"host", b"origin", b"x-console-token")
_TOKEN = b"x-console-token"
_NO_GUARD = (
    "The console is available on a loopback address only, or with a guard that authenticates "
    "callers: add --keys or --issuer, or pass guard= to http_app()"
)


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
        found = self.site.find(self.body.get("server"))
        if found is None:
            known = ", ".join(repr(each.name) for each in self.site.servers)
            raise RefusedError(
                400, f"There is no server {self.body.get('server')!r}; expected one of {known}"
            )
        return found

    def read(self, to: type[T], expected: str) -> T:
        """The body as an object of this type; raises RefusedError."""
        try:
            return msgspec.convert(self.body, to)
        except msgspec.ValidationError as error:
            raise RefusedError(400, f"Expected {expected}: {error}") from None


def public_url(request: HttpRequest, path: str = "") -> str:
    """The URL of a path below the mount point, as the browser sees it."""
    scheme = request.scope.get("scheme", "http")
    host = request.headers.get(b"host", b"").decode("latin-1")
    return f"{scheme}://{host}{quote(mount_point(request.scope) + path)}"


def prefers_html(request: HttpRequest) -> bool:
    """Whether a browser sends the request for a page; an MCP client never asks for HTML."""
    accept = request.headers.get(b"accept", b"").lower()
    ranges = {part.partition(b";")[0].strip() for part in accept.split(b",")}
    return (
        request.scope["method"] in ("GET", "HEAD")
        and b"text/html" in ranges
        and b"text/event-stream" not in ranges
    )


class RequestChecks:
    """Which requests the console serves; each method raises RefusedError."""

    def __init__(self, site: ConsoleSite) -> None:
        self._guard = RequestGuard(site.allowed_hosts, site.allowed_origins)
        self._token = site.token.encode()
        self._backends = [each.auth for each in site.servers]
        self._is_guarded = all(auth is not None and auth.requires_auth for auth in self._backends)
        headers = {name for auth in self._backends if auth for name in auth.credential_headers}
        self._single = (*_SINGLE, *sorted(headers))

    def check_address(self, request: HttpRequest, *, is_hosted: bool) -> None:
        """Apply the Host and Origin rules of the server, to pages and files as well."""
        scope, headers = request.scope, request.headers
        invalid = framing_refusal(
            headers, needs_trusted_headers=is_hosted and self._is_guarded
        ) or head_refusal(scope, headers, self._single)
        if invalid is not None:
            raise RefusedError(*invalid, ((b"connection", b"close"),))
        refusal = self._guard.refusal(
            headers.get(b"host", b""), headers.get(b"origin", b""), scope.get("server")
        )
        if refusal is not None:
            raise RefusedError(403, refusal)
        if not self._is_guarded and not _is_local(scope):
            raise RefusedError(403, _NO_GUARD)

    def check_token(self, request: HttpRequest) -> None:
        """Refuse what a page of another site could send: it cannot read the token."""
        if request.headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            raise RefusedError(403, "The console takes requests from its own page only")
        given = request.headers.get(_TOKEN, b"")
        if not hmac.compare_digest(given, self._token):
            raise RefusedError(
                403, "The X-Console-Token is missing or out of date; reload the page"
            )

    async def check_caller(self, request: HttpRequest) -> None:
        """Apply the guard of every server, as for requests to the MCP endpoints."""
        for auth in self._backends:
            if auth is None:
                continue
            found = auth.identify(request)
            if found is not None and not isinstance(found, Principal | AuthRejection):
                found = await found
            if isinstance(found, AuthRejection):
                raise RefusedError(*found)


def _is_local(scope: Scope) -> bool:
    """Whether the request was sent to a loopback address, or to a Unix socket."""
    address = scope.get("server")
    return address is not None and (address[1] is None or is_loopback(str(address[0])))
