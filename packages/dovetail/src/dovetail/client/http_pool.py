"""A connection pool for one server, which follows safe redirects."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from weakref import WeakSet

from dovetail.client.background import BackgroundTasks
from dovetail.client.channel import UnreachableError
from dovetail.client.http_connection import (
    ClientResponse,
    Headers,
    HttpConnection,
    explain_os_error,
)
from dovetail.client.http_endpoint import Endpoint
from dovetail.errors import PeerError, TransportError

__all__ = ["HttpPool"]

_CONNECT_SECONDS = 10.0
# Idle connections that are kept.
_MAX_IDLE = 8
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
    """

    def __init__(
        self,
        endpoint: Endpoint,
        find_address: Callable[[Endpoint], Awaitable[str]] | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._find_address = find_address
        self._idle: list[HttpConnection] = []
        # Includes connections that are closing: `close` waits for all of them.
        self._all: WeakSet[HttpConnection] = WeakSet()
        self._drain_tasks = BackgroundTasks()
        self._context: ssl.SSLContext | None = None
        self.is_closed = False

    @contextlib.asynccontextmanager
    async def exchange(
        self, method: str, headers: Headers, body: bytes = b"", at: Endpoint | None = None
    ) -> AsyncIterator[ClientResponse]:
        """Send a request; the response can be read inside the block.

        `at` is another URL of the same origin. A redirect is followed if it leads to the same
        origin and keeps the method and the body (307, 308).
        """
        target = at or self.endpoint
        for _ in range(_MAX_REDIRECTS + 1):
            async with self._exchange_once(method, target, headers, body) as response:
                moved = _find_redirect(response)
                if moved is None:
                    yield response
                    return
            if response.status == HTTPStatus.PERMANENT_REDIRECT and target == self.endpoint:
                self.endpoint = moved
            target = moved
        raise PeerError(f"{self.endpoint} redirects more than {_MAX_REDIRECTS} times in a row")

    @contextlib.asynccontextmanager
    async def _exchange_once(
        self, method: str, target: Endpoint, headers: Headers, body: bytes
    ) -> AsyncIterator[ClientResponse]:
        connection = self._take_idle() or await self._connect()
        in_order = False
        try:
            head = await connection.send(method, target.resource, headers, body)
            yield ClientResponse(connection, head, target)
            in_order = True
        finally:
            if not in_order:
                connection.close()
            elif connection.is_done:
                self._keep(connection)
            else:
                # The response has arrived; the end of the body likely follows soon.
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

    def _keep(self, connection: HttpConnection) -> None:
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
                self._keep(connection)
            else:
                connection.close()

    async def _connect(self) -> HttpConnection:
        endpoint = self.endpoint
        if endpoint.is_secure and self._context is None:
            self._context = ssl.create_default_context()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                find = self._find_address
                reader, writer = await asyncio.open_connection(
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
        connection = HttpConnection(endpoint, reader, writer)
        self._all.add(connection)
        return connection


def _find_redirect(response: ClientResponse) -> Endpoint | None:
    location = response.headers.get("location")
    if location is None or response.status not in _REDIRECTS:
        return None
    # Other origins must not get the user's headers. The error names the location, so the user
    # can decide.
    return response.endpoint.resolve(location)
