"""The connections of one client: kept for the next request, and redirects that may be followed."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from http import HTTPStatus
from weakref import WeakSet

from dovetail.client.background import Background
from dovetail.client.channel import UnreachableError
from dovetail.client.http_connection import (
    Headers,
    HttpConnection,
    HttpResponse,
    explain_os_error,
)
from dovetail.client.http_endpoint import Endpoint
from dovetail.errors import PeerError, TransportError

__all__ = ["HttpPool"]

_CONNECT_SECONDS = 10.0
# Connections that wait for their next request; more are closed when they are done.
_MOST_IDLE = 8
# uvicorn and node close idle connections after five seconds. A request must not meet that
# moment: nobody could tell whether it was still carried out.
_IDLE_SECONDS = 3.0
# How long a server may take to end a body that nobody needs any more.
_REST_SECONDS = 1.0
# A slash that is missing, or a version in the path; more is a circle.
_MOST_REDIRECTS = 3
# Those that keep the method and the body. The others turn a POST into a GET.
_REDIRECTS = (HTTPStatus.TEMPORARY_REDIRECT, HTTPStatus.PERMANENT_REDIRECT)


class HttpPool:
    """Connections to one endpoint, and to others of its origin."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._idle: list[HttpConnection] = []
        # Also those that are closing: the last to leave waits for all of them.
        self._all: WeakSet[HttpConnection] = WeakSet()
        self._rests = Background()
        self._context: ssl.SSLContext | None = None
        self.is_closed = False

    @contextlib.asynccontextmanager
    async def exchange(
        self, method: str, headers: Headers, body: bytes = b"", at: Endpoint | None = None
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and read its response inside the block; leaving it ends the exchange.

        `at` is another place of the same origin. A redirect is followed where that is safe:
        to the same origin, with the method and the body as they are (307, 308).
        """
        place = at or self.endpoint
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._exchange_once(method, place, headers, body) as response:
                moved = _find_redirect(response)
                if moved is None:
                    yield response
                    return
            if response.status == HTTPStatus.PERMANENT_REDIRECT and place == self.endpoint:
                self.endpoint = moved
            place = moved
        raise PeerError(f"{self.endpoint} redirects more than {_MOST_REDIRECTS} times in a row")

    @contextlib.asynccontextmanager
    async def _exchange_once(
        self, method: str, place: Endpoint, headers: Headers, body: bytes
    ) -> AsyncIterator[HttpResponse]:
        connection = self._take_idle() or await self._connect()
        in_order = False
        try:
            head = await connection.send(method, place.resource, headers, body)
            yield HttpResponse(connection, head, place)
            in_order = True
        finally:
            if not in_order:
                connection.close()
            elif connection.is_done:
                self._keep(connection)
            else:
                # What was wanted has come; the end of the body is likely on its way.
                self._rests.start(self._read_rest(connection))

    async def close(self) -> None:
        """Close every connection; exchanges under way raise TransportError."""
        self.is_closed = True
        await self._rests.close()
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
        if self.is_closed or len(self._idle) >= _MOST_IDLE or not connection.recycle():
            connection.close()
        else:
            self._idle.append(connection)

    async def _read_rest(self, connection: HttpConnection) -> None:
        in_order = False
        try:
            async with asyncio.timeout(_REST_SECONDS):
                while await connection.read():
                    pass
            in_order = True
        except (TransportError, TimeoutError):
            # The answer came before; how its connection ends changes nothing.
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
                reader, writer = await asyncio.open_connection(
                    endpoint.host,
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


def _find_redirect(response: HttpResponse) -> Endpoint | None:
    location = response.headers.get("location")
    if location is None or response.status not in _REDIRECTS:
        return None
    # Elsewhere, the user's headers would reach whom they are not meant for: that is for the
    # user to decide, who reads in the error where it leads.
    return response.endpoint.resolve(location)
