"""An HTTP/1.1 client connection: one request and response at a time.

h11 implements the protocol, asyncio the I/O. Bodies are read in chunks, because an event stream may
never end. A connection whose body was not read to its end is closed, not reused: closing tells the
server that the client stopped listening. This module does not know MCP.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus

import h11

from dovetail.client.http_endpoint import Endpoint
from dovetail.errors import PeerError, TransportError

__all__ = ["ClientResponse", "Headers", "HttpConnection", "explain_os_error"]

Headers = Sequence[tuple[str, str]]

_CHUNK = 65536
# Heads of requests that are kept on a connection.
_KEPT_HEADS = 16
# How long a graceful close may take.
_CLOSE_SECONDS = 1.0


class ClientResponse:
    """The head of a response; the body is read on demand."""

    def __init__(self, connection: HttpConnection, head: h11.Response, endpoint: Endpoint) -> None:
        # The endpoint that answered, after redirects.
        self.endpoint = endpoint
        self.status = head.status_code
        self.headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers
        }
        if len(self.headers) < len(head.headers):
            self.headers = _join_repeated(head)
        # Words that messages about this response must not show.
        self.secrets: Sequence[str] = ()
        self._connection = connection

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def coding(self) -> str:
        """The content coding of the body; empty for identity."""
        coding = self.headers.get("content-encoding", "").strip().lower()
        return "" if coding == "identity" else coding

    @property
    def reason(self) -> str:
        """The status code with its phrase."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in chunks; raises TransportError if it is cut off."""
        while chunk := await self._connection.read():
            yield chunk

    async def read(self, limit: int) -> bytes:
        """The whole body; raises PeerError if it exceeds the limit."""
        body = bytearray()
        while chunk := await self._connection.read():
            body += chunk
            if len(body) > limit:
                raise PeerError(
                    f"{self.endpoint} sent a body longer than the limit of {limit} bytes"
                )
        return bytes(body)


class HttpConnection:
    """One TCP connection; one request at a time."""

    def __init__(
        self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.endpoint = endpoint
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.CLIENT)
        self._has_head = False
        self._idle_since = 0.0
        self._heads: dict[tuple[object, ...], h11.Request] = {}

    @property
    def is_done(self) -> bool:
        """Whether the response has been read to its end."""
        return self._http.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)

    def is_fresh(self, seconds: float) -> bool:
        """Whether the connection was idle for less than `seconds` and still looks open."""
        idle = asyncio.get_running_loop().time() - self._idle_since
        return idle < seconds and not self._reader.at_eof() and not self._writer.is_closing()

    def recycle(self) -> bool:
        """Prepare for another request; False if the connection cannot be reused."""
        if self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return False
        if self._http.trailing_data[0]:
            # Extra bytes would be read as the response to the next request.
            return False
        self._http.start_next_cycle()
        self._has_head = False
        self._idle_since = asyncio.get_running_loop().time()
        return True

    def close(self) -> None:
        """Close the connection, even if a response is incomplete."""
        if self._writer.transport.get_write_buffer_size():
            # A graceful close would wait for the unsent data, which is no longer needed.
            self._writer.transport.abort()
        self._writer.close()

    async def wait_closed(self) -> None:
        """Wait briefly until the connection is closed."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()

    async def send(self, method: str, resource: str, headers: Headers, body: bytes) -> h11.Response:
        """Write a request and wait for the head of its response."""
        data = self._http.send(self._make_head(method, resource, headers, body)) or b""
        if body:
            data += self._http.send(h11.Data(data=body)) or b""
        data += self._http.send(h11.EndOfMessage()) or b""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError:
            # A server that rejects a long body may answer before it has read it.
            pass
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                self._has_head = True
                return event

    def _make_head(self, method: str, resource: str, headers: Headers, body: bytes) -> h11.Request:
        """The head of a request; most are the same as one before, and validating takes long."""
        fields = [("Host", self.endpoint.authority), *headers]
        if body or method == "POST":
            fields.append(("Content-Length", str(len(body))))
        key = (method, resource, *fields)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _KEPT_HEADS:
                self._heads.clear()
            head = h11.Request(method=method, target=resource, headers=fields)
            self._heads[key] = head
        return head

    async def read(self) -> bytes:
        """The next chunk of the body; empty at its end."""
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
                text = f"{self.endpoint} closed the connection without a response"
                raise TransportError(text) from None
            raise TransportError(
                f"{self.endpoint} sent an incomplete or invalid HTTP response: {error}"
            ) from None
        except OSError as error:
            text = f"The connection to {self.endpoint} failed: {explain_os_error(error)}"
            raise TransportError(text) from None
        return event


def _join_repeated(head: h11.Response) -> dict[str, str]:
    """The headers, where a name that occurs twice has both values (RFC 9110, section 5.2)."""
    joined: dict[str, str] = {}
    for name, value in head.headers:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return joined


def explain_os_error(error: OSError) -> str:
    """A readable reason for a connection error."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused; no server is listening there"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "the server does not speak TLS; try an http:// URL"
    return error.strerror or str(error) or type(error).__name__
