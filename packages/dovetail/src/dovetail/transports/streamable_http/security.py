"""What protects HTTP requests: the checks of Host, Origin and framing, and hidden credentials.

A web page can make a browser send requests to a server on the user's own machine (DNS rebinding),
but it cannot forge the Host and Origin headers. A server that listens on a loopback address
therefore accepts loopback hosts and loopback origins only. Other servers should set
`allowed_hosts`; without it, an Origin, if present, must match the Host of the request.

Requests with ambiguous framing are rejected: a proxy and this server could read such a request
differently, and a second request could be smuggled past the proxy.

Headers with credentials are removed from the request that handlers see.
auth.no-passthrough (2025-06-18 basic/authorization): handlers cannot forward the credentials.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from dovetail.net.addresses import is_loopback
from dovetail.transports.asgi.messages import Headers, Receive, RequestView, Scope, Transmit, Watch

__all__ = [
    "LOOPBACK",
    "RequestGuard",
    "WithoutCredentials",
    "framing_refusal",
    "head_refusal",
    "without_credentials",
]

# As ASGI names them; httptools accepts others as well.
_HTTP_VERSIONS = frozenset({"1.0", "1.1", "2", "3"})
_HTTPTOOLS = "uvicorn.protocols.http.httptools_impl"


def framing_refusal(
    headers: dict[bytes, bytes], *, needs_trusted_headers: bool
) -> tuple[int, str] | None:
    """The status and text for a body of uncertain length, or None.

    `needs_trusted_headers`: another ASGI server runs the application, and headers authenticate.
    """
    if b"transfer-encoding" not in headers:
        return None
    if b"content-length" in headers:
        # RFC 9112 section 6.3; h11 accepts it.
        return 400, "Send either Content-Length or Transfer-Encoding"
    if needs_trusted_headers and _HTTPTOOLS in sys.modules:
        # uvicorn adds the trailers of a chunked body to the headers, and with them credentials
        # that no proxy has checked. The server of `dovetail run` drops them.
        return 411, "Send a Content-Length: this server does not accept chunked requests"
    return None


def head_refusal(
    scope: Scope, headers: dict[bytes, bytes], single: Collection[bytes]
) -> tuple[int, str] | None:
    """The status and text for an invalid head, or None; headers in `single` must not be repeated.

    `headers` are those of the scope by name.
    """
    version = scope.get("http_version", "1.1")
    if version not in _HTTP_VERSIONS:
        return 505, "This version of HTTP is not supported"
    if version == "1.1" and b"host" not in headers:
        # RFC 9112 section 3.2
        return 400, "The Host header is missing"
    if len(scope["headers"]) != len(headers) and _has_repeated(scope["headers"], single):
        return 400, "A protocol header is repeated; send it once"
    return None


def _has_repeated(raw: Headers, single: Collection[bytes]) -> bool:
    names = [name for name, _ in raw]
    return any(
        names.count(name) > 1 for name in names if name in single or name.startswith(b"mcp-param-")
    )


def without_credentials(scope: Scope, hidden: Collection[bytes]) -> Scope:
    """A copy of the scope without the `hidden` headers."""
    headers = [(name, value) for name, value in scope["headers"] if name not in hidden]
    return {**scope, "headers": headers}


class WithoutCredentials:
    """A request without the `hidden` headers in its scope; the scope is copied on first use."""

    __slots__ = ("_hidden", "_request", "_scope", "headers")

    def __init__(self, request: RequestView, hidden: Collection[bytes]) -> None:
        self._request = request
        self._hidden = hidden
        self._scope: Scope | None = None
        self.headers: dict[bytes, bytes] = request.headers

    @property
    def scope(self) -> Scope:
        """The value of `ctx.scope`."""
        if self._scope is None:
            self._scope = without_credentials(self._request.scope, self._hidden)
        return self._scope

    @property
    def receive(self) -> Receive:
        """The ASGI receive callable."""
        return self._request.receive

    @property
    def transmit(self) -> Transmit:
        """The ASGI send callable."""
        return self._request.transmit

    def watch(self, gone: Callable[[], None]) -> Watch:
        """Call `gone` when the client disconnects, until the watch is cancelled."""
        return self._request.watch(gone)


LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# A name or an address (IPv6 in brackets) with an optional port.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:/@]+)(?::[0-9]*)?")


class RequestGuard:
    """Validates the Host and Origin headers."""

    def __init__(
        self,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] = (),
    ) -> None:
        """`allowed_hosts=None` allows loopback names on a loopback address, else any host."""
        self._hosts = None if allowed_hosts is None else {host.lower() for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}
        self._any_origin = "*" in self._origins

    def refusal(
        self, host: bytes, origin: bytes, server: tuple[str, int | None] | None
    ) -> str | None:
        """Why a request to the address `server` is rejected, or None if it is allowed."""
        address = server[0] if server else ""
        return self._check(
            host.decode("latin-1").lower(), origin.decode("latin-1").lower(), address
        )

    def _check(self, host: str, origin: str, address: str) -> str | None:
        name = _without_port(host)
        allowed = self._hosts
        if allowed is None:
            # The address itself is safe: DNS rebinding needs a name.
            allowed = {*LOOPBACK, address} if is_loopback(address) else {"*"}
        if not {"*", name, host} & allowed:
            return (
                f"Host {host!r} is not allowed; allowed: {', '.join(sorted(allowed))} "
                "(see allowed_hosts)"
            )
        if not origin or self._any_origin or origin in self._origins:
            return None
        # http.origin.validate, http.origin.403 (2025-11-25 basic/transports)
        try:
            origin_host = urlsplit(origin).netloc
        except ValueError:
            return f"Origin {origin!r} is not a valid URL"
        # An origin without a host ("null") does not match a request without a Host header.
        if origin_host and origin_host == host:
            return None
        if {_without_port(origin_host), name} <= set(LOOPBACK):
            return None
        return f"Origin {origin!r} is not allowed (see allowed_origins)"

    def allows_cors(self, origin: bytes) -> bool:
        """Whether `allowed_origins` contains this origin."""
        return self._any_origin or origin.decode("latin-1").lower() in self._origins


def _without_port(host: str) -> str:
    """The name in a Host header; an invalid header is returned unchanged and matches nothing."""
    match = _HOST.fullmatch(host)
    return match["name"] if match is not None else host
