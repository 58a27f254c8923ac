"""Connections through the HTTP proxy that the environment names (`HTTPS_PROXY`, `NO_PROXY`)."""

from __future__ import annotations

import asyncio
import base64
import ssl
from urllib.parse import unquote, urlsplit

from dovetail.errors import UnreachableError
from dovetail.net.addresses import is_loopback
from dovetail.net.http_endpoint import Endpoint

__all__ = ["find_proxy", "open_tunnel"]

_MAX_HEAD = 16 * 1024


def find_proxy(endpoint: Endpoint) -> str | None:
    """The URL of the proxy for an https endpoint; None to connect directly."""
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415 - slow to import

    if not endpoint.is_secure or is_loopback(endpoint.host) or proxy_bypass(endpoint.host):
        return None
    return getproxies().get("https")


async def open_tunnel(
    proxy: str, endpoint: Endpoint, connection: asyncio.Protocol, context: ssl.SSLContext
) -> None:
    """Connect through a proxy (RFC 9110, section 9.3.6); raises OSError or UnreachableError."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        host = ""
    if not host:
        # Without the value, which may have a password.
        raise UnreachableError("The proxy that the environment names is not a valid URL")
    loop = asyncio.get_running_loop()
    transport, answer = await loop.create_connection(_Answer, host, port)
    try:
        name = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
        target = f"{name}:{endpoint.port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
        transport.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        status = await answer.status
        if status != b"200":
            raise UnreachableError(
                f"The proxy {host} does not connect to {endpoint.origin}: "
                f"status {status.decode('ascii', 'replace')[:20] or 'missing'}"
            )
        inner = await loop.start_tls(transport, connection, context, server_hostname=endpoint.host)
        assert inner is not None
        connection.connection_made(inner)
    except BaseException:
        transport.abort()
        raise


class _Answer(asyncio.Protocol):
    """The head of the proxy's answer."""

    def __init__(self) -> None:
        self.status: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._head = b""

    def data_received(self, data: bytes) -> None:
        """Read the status when the head is complete."""
        self._head += data
        if not self.status.done() and (b"\r\n\r\n" in self._head or len(self._head) > _MAX_HEAD):
            self.status.set_result(b"".join(self._head.split(None, 2)[1:2])[:3])

    def connection_lost(self, exc: Exception | None) -> None:
        """End the wait: the proxy has closed the connection."""
        if not self.status.done():
            self.status.set_result(b"")
