"""A connection pool for one server, which follows safe redirects."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from types import TracebackType
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from dovetail.errors import PeerError, TransportError, UnreachableError
from dovetail.net.addresses import Endpoint, is_loopback
from dovetail.net.background import BackgroundTasks
from dovetail.net.http_connection import (
    ClientResponse,
    Headers,
    HttpConnection,
    explain_os_error,
)

__all__ = [
    "HttpPool",
    "find_proxy",
    "open_tunnel",
]

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


_CONNECT_SECONDS = 10.0
# Idle connections that stay open.
_MAX_IDLE = 32
# uvicorn and node close idle connections after five seconds. A request that meets that
# moment may or may not be processed, so connections are reused for less long.
_IDLE_SECONDS = 3.0
# How long to wait for the end of a body after the last needed message.
_DRAIN_SECONDS = 1.0
# A missing slash, or a version in the path; more is likely a loop.
_MAX_REDIRECTS = 3
# Redirects that keep the method and the body. Others turn a POST into a GET.
_REDIRECTS = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)


class HttpPool:
    """Connections to one origin.

    `find_address` returns the address to connect to; without it, the system resolves the host.
    `uses_proxy`: connect through the proxy that the environment names.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        find_address: Callable[[Endpoint], Awaitable[str]] | None = None,
        *,
        uses_proxy: bool = False,
    ) -> None:
        self.endpoint: Endpoint = endpoint
        self._uses_proxy = uses_proxy
        self._find_address = find_address
        self._idle: list[HttpConnection] = []
        # Includes connections that are closing: `close` waits for all of them.
        self._all: WeakSet[HttpConnection] = WeakSet()
        self._drain_tasks = BackgroundTasks()
        self._context: ssl.SSLContext | None = None
        self.is_closed: bool = False

    def exchange(
        self, method: str, headers: Headers, body: bytes = b"", at: Endpoint | None = None
    ) -> AbstractAsyncContextManager[ClientResponse]:
        """Send a request; the response can be read inside the block.

        `at` is another URL of the same origin. A redirect is followed if it leads to the same
        origin and keeps the method and the body (307, 308).
        """
        return _Exchange(self, method, headers, body, at)

    async def send(
        self, method: str, headers: Headers, body: bytes, at: Endpoint | None
    ) -> tuple[HttpConnection, ClientResponse]:
        """Send a request and follow redirects; the connection has to be released."""
        target = at or self.endpoint
        for _ in range(_MAX_REDIRECTS + 1):
            connection = self._take_idle() or await self._connect()
            try:
                head = await connection.send(method, target.resource, headers, body)
                response = ClientResponse(connection, head, target)
                moved = _find_redirect(response)
            except BaseException:
                connection.close()
                raise
            if moved is None:
                return connection, response
            self.release(connection)
            if response.status == HTTPStatus.PERMANENT_REDIRECT and target == self.endpoint:
                self.endpoint = moved
            target = moved
        raise PeerError(f"{self.endpoint} redirects more than {_MAX_REDIRECTS} times in a row")

    def release(self, connection: HttpConnection) -> None:
        """Keep a connection whose response has arrived for the next request."""
        if connection.is_done:
            self._release(connection)
        else:
            # The end of the body likely follows soon.
            self._drain_tasks.start(self._drain(connection))

    async def close(self) -> None:
        """Close every connection; running requests raise TransportError."""
        self.is_closed = True
        await self._drain_tasks.close()
        connections = list(self._all)
        self._idle.clear()
        for connection in connections:
            connection.close()
        for connection in connections:
            await connection.wait_closed()

    def _take_idle(self) -> HttpConnection | None:
        if self.is_closed:
            raise TransportError("The connection to the server is closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fresh(_IDLE_SECONDS):
                return connection
            connection.close()
        return None

    def _release(self, connection: HttpConnection) -> None:
        if self.is_closed or len(self._idle) >= _MAX_IDLE or not connection.recycle():
            connection.close()
        else:
            self._idle.append(connection)

    async def _drain(self, connection: HttpConnection) -> None:
        in_order = False
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                while await connection.read():
                    pass
            in_order = True
        except (TransportError, TimeoutError):
            # The response is complete; errors of the connection do not matter.
            pass
        finally:
            if in_order:
                self._release(connection)
            else:
                connection.close()

    async def _connect(self) -> HttpConnection:
        endpoint = self.endpoint
        if endpoint.is_secure and self._context is None:
            self._context = ssl.create_default_context()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                proxy = find_proxy(endpoint) if self._uses_proxy else None
                if proxy is not None and self._context is not None:
                    connection = HttpConnection(endpoint)
                    await open_tunnel(proxy, endpoint, connection, self._context)
                    self._all.add(connection)
                    return connection
                find = self._find_address
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: HttpConnection(endpoint),
                    endpoint.host if find is None else await find(endpoint),
                    endpoint.port,
                    ssl=self._context,
                    server_hostname=endpoint.host if endpoint.is_secure else None,
                )
        except TimeoutError:
            text = f"Could not connect to {endpoint} within {_CONNECT_SECONDS:g} s"
            raise UnreachableError(text) from None
        except OSError as error:
            raise UnreachableError(
                f"Could not connect to {endpoint}: {explain_os_error(error)}"
            ) from None
        self._all.add(connection)
        return connection


class _Exchange:
    """One request and its response. A generator would take several times as long."""

    __slots__ = ("_connection", "_pool", "_request")

    def __init__(
        self, pool: HttpPool, method: str, headers: Headers, body: bytes, at: Endpoint | None
    ) -> None:
        self._pool = pool
        self._request = (method, headers, body, at)
        self._connection: HttpConnection | None = None

    async def __aenter__(self) -> ClientResponse:
        self._connection, response = await self._pool.send(*self._request)
        return response

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._connection is not None
        if error is None:
            self._pool.release(self._connection)
        else:
            self._connection.close()


def _find_redirect(response: ClientResponse) -> Endpoint | None:
    if response.status not in _REDIRECTS:
        return None
    location = response.headers.get("location")
    if location is None:
        return None
    # Other origins must not get the user's headers. The error names the location, so the user
    # can decide.
    return response.endpoint.resolve(location)
