"""Reject requests with ambiguous framing (request smuggling).

A proxy and this server could read such a request differently, and a second request could be
smuggled past the proxy.
"""

from __future__ import annotations

import sys
from collections.abc import Collection

from dovetail.transports.asgi.messages import Headers, Scope

__all__ = ["framing_refusal", "head_refusal"]

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
