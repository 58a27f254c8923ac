"""HTTP/1.1 as far as a client needs it: one exchange at a time on a connection, kept for the next.

h11 knows the protocol, asyncio moves the bytes. Bodies are read piece by piece, because a
stream of events may never end. A connection whose body was not read to its end is closed and
not kept: closing is how a client says that it no longer listens. Knows nothing of MCP.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit
from weakref import WeakSet

import h11

from dovetail.client.background import Background
from dovetail.client.channel import UnreachableError
from dovetail.errors import PeerError, TransportError, UsageError

__all__ = ["Endpoint", "Headers", "HttpPool", "HttpResponse", "parse_url"]

Headers = Sequence[tuple[str, str]]

_CHUNK = 65536
_CONNECT_SECONDS = 10.0
# Connections that wait for their next request; more are closed when they are done.
_MOST_IDLE = 8
# uvicorn and node close idle connections after five seconds. A request must not meet that
# moment: nobody could tell whether it was still carried out.
_IDLE_SECONDS = 3.0
# How long a server may take to end a body that nobody needs any more.
_REST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go."""

    host: str
    port: int
    # The path with its query, as it stands in the request line.
    resource: str
    # The value of the Host header.
    authority: str
    is_secure: bool

    def __str__(self) -> str:
        # Without the query: some people keep a key in it, and this ends up in messages.
        scheme = "https" if self.is_secure else "http"
        return f"{scheme}://{self.authority}{self.resource.partition('?')[0]}"


def parse_url(url: str) -> Endpoint:
    """The endpoint of an http(s) URL; raises UsageError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is no http:// or https:// URL with a host")
    if parts.username is not None or parts.password is not None:
        raise UsageError("A URL with a user name is not taken; give headers={'Authorization': ...}")
    resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url!r} holds characters that must be percent-encoded in a URL")
    is_secure = parts.scheme == "https"
    default = 443 if is_secure else 80
    return Endpoint(parts.hostname, port or default, resource, _authority(parts), is_secure)


def _authority(parts: SplitResult) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port is None else f"{host}:{parts.port}"


class HttpResponse:
    """The head of a response, and its body as it comes."""

    def __init__(self, connection: _Connection, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers
        }
        self._connection = connection

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def reason(self) -> str:
        """The status as people read it."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body piece by piece; raises TransportError where it breaks off."""
        while piece := await self._connection.read():
            yield piece

    async def read(self, limit: int) -> bytes:
        """The whole body; raises PeerError for one beyond the limit."""
        body = bytearray()
        while piece := await self._connection.read():
            body += piece
            if len(body) > limit:
                where = self._connection.endpoint
                raise PeerError(f"{where} sent a body longer than the limit of {limit} bytes")
        return bytes(body)


class HttpPool:
    """Connections to one endpoint."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._idle: list[_Connection] = []
        # Also those that are closing: the last to leave waits for all of them.
        self._all: WeakSet[_Connection] = WeakSet()
        self._rests = Background()
        self._context: ssl.SSLContext | None = None
        self.is_closed = False

    @contextlib.asynccontextmanager
    async def exchange(
        self, method: str, headers: Headers, body: bytes = b""
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and read its response inside the block; leaving it ends the exchange."""
        connection = self._take_idle() or await self._connect()
        in_order = False
        try:
            yield HttpResponse(connection, await connection.send(method, headers, body))
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

    def _take_idle(self) -> _Connection | None:
        if self.is_closed:
            raise TransportError("The connection to the server is closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.is_fresh(_IDLE_SECONDS):
                return connection
            connection.close()
        return None

    def _keep(self, connection: _Connection) -> None:
        if self.is_closed or len(self._idle) >= _MOST_IDLE or not connection.recycle():
            connection.close()
        else:
            self._idle.append(connection)

    async def _read_rest(self, connection: _Connection) -> None:
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

    async def _connect(self) -> _Connection:
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
            raise UnreachableError(f"Could not connect to {endpoint}: {_why(error)}") from None
        connection = _Connection(endpoint, reader, writer)
        self._all.add(connection)
        return connection


class _Connection:
    """One TCP connection; one exchange at a time."""

    def __init__(
        self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.endpoint = endpoint
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT)
        self._has_head = False
        self._idle_since = 0.0

    @property
    def is_done(self) -> bool:
        """Whether the response has been read to its end."""
        return self._http.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)

    def is_fresh(self, seconds: float) -> bool:
        """Whether the server most likely has not closed it meanwhile."""
        idle = asyncio.get_running_loop().time() - self._idle_since
        return idle < seconds and not self._reader.at_eof() and not self._writer.is_closing()

    def recycle(self) -> bool:
        """Get ready for another exchange; False if the server wants none."""
        if self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return False
        if self._http.trailing_data[0]:
            # More than the answer: it would be taken for the answer to the next request.
            return False
        self._http.start_next_cycle()
        self._has_head = False
        self._idle_since = asyncio.get_running_loop().time()
        return True

    def close(self) -> None:
        if self._writer.transport.get_write_buffer_size():
            # Nobody needs what was not sent yet; a graceful end would wait for it.
            self._writer.transport.abort()
        self._writer.close()

    async def wait_closed(self) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                await self._writer.wait_closed()

    async def send(self, method: str, headers: Headers, body: bytes) -> h11.Response:
        """Write a request and wait for the head of its response."""
        fields = [("Host", self.endpoint.authority), *headers]
        if body or method == "POST":
            fields.append(("Content-Length", str(len(body))))
        request = h11.Request(method=method, target=self.endpoint.resource, headers=fields)
        data = self._http.send(request) or b""
        if body:
            data += self._http.send(h11.Data(data=body)) or b""
        data += self._http.send(h11.EndOfMessage()) or b""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            # A server that refuses a long body may answer before it has read it.
            pass
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                self._has_head = True
                return event

    async def read(self) -> bytes:
        """The next piece of the body; nothing at its end."""
        while not self.is_done:
            event = await self._next_event()
            if isinstance(event, h11.Data):
                return bytes(event.data)
        return b""

    async def _next_event(self) -> object:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_CHUNK))
        except h11.RemoteProtocolError as error:
            if self._http.trailing_data == (b"", True) and not self._has_head:
                text = f"{self.endpoint} closed the connection without an answer"
                raise TransportError(text) from None
            raise TransportError(f"{self.endpoint} broke off or sent no HTTP: {error}") from None
        except OSError as error:
            text = f"The connection to {self.endpoint} broke: {_why(error)}"
            raise TransportError(text) from None
        return event


def _why(error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return error.strerror or str(error) or type(error).__name__
