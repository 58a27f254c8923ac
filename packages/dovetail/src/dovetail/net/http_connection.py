"""An HTTP/1.1 client connection: one request and response at a time.

httptools parses responses, asyncio does the I/O. Bodies are read in chunks, because an event stream
may never end. A connection whose body was not read to its end is closed, not reused: closing tells
the server that the client stopped listening. This module does not know MCP.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus

import httptools

from dovetail.errors import PeerError, TransportError
from dovetail.net.addresses import Endpoint

__all__ = ["ClientResponse", "Headers", "HttpConnection", "ResponseHead", "explain_os_error"]

Headers = Sequence[tuple[str, str]]

# Bytes of a body that wait to be read before the connection stops receiving.
_MAX_UNREAD = 128 * 1024
# Encoded heads of requests that a connection caches.
_MAX_HEADS = 16
# Headers of a response.
_MAX_HEADERS = 500
# How long a graceful close may take.
_CLOSE_SECONDS = 1.0


class ClientResponse:
    """The head of a response; the body is read on demand."""

    def __init__(self, connection: HttpConnection, head: ResponseHead, endpoint: Endpoint) -> None:
        # The endpoint that answered, after redirects.
        self.endpoint = endpoint
        self.status: int = head.status_code
        self._head = head
        # Words that messages about this response must not show.
        self.secrets: Sequence[str] = ()
        self._connection = connection
        self._headers: dict[str, str] | None = None

    @property
    def address(self) -> str | None:
        """The IP address that the response came from."""
        return self._connection.address

    @property
    def headers(self) -> dict[str, str]:
        """The headers; a name that occurs twice has both values (RFC 9110, section 5.2)."""
        joined = self._headers
        if joined is None:
            joined = self._headers = {}
            for name, value in self._head.headers:
                key, text = name.decode("latin-1"), value.decode("latin-1")
                joined[key] = f"{joined[key]}, {text}" if key in joined else text
        return joined

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
        connection = self._connection
        chunks = [await connection.read()]
        size = len(chunks[0])
        while size <= limit and connection.has_more:
            chunks.append(await connection.read())
            size += len(chunks[-1])
        if size > limit:
            raise PeerError(f"{self.endpoint} sent a body longer than the limit of {limit} bytes")
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class ResponseHead:
    """Status and headers of a response; the names are in lower case."""

    __slots__ = ("headers", "status_code")

    def __init__(self, status_code: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.status_code: int = status_code
        self.headers: list[tuple[bytes, bytes]] = headers


class _ResponseParser:
    """The response to one request, as far as it has arrived."""

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.is_complete = False
        # Bytes after the response would be read as the response to the next request.
        self.has_extra = False
        self.keeps_open = False
        # Bytes of the body that have not been taken.
        self.unread = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take bytes; raises httptools.HttpParserError."""
        self._parser.feed_data(data)

    def feed_end(self) -> None:
        """Take the end of the connection, which may complete the response."""
        # RFC 9112, section 6.3: without a length, the body lasts until the connection closes.
        names = {name for name, _ in self._headers}
        if self.head is not None and not names & {b"content-length", b"transfer-encoding"}:
            self.is_complete = True

    def take_body(self) -> bytes:
        """The part of the body that has not been taken yet."""
        if not self._body:
            return b""
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body.clear()
        self.unread = 0
        return body

    # -- called by the parser -------------------------------------------------------------

    def on_message_begin(self) -> None:
        self.has_extra = self.is_complete
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) >= _MAX_HEADERS:
            raise ValueError(f"more than {_MAX_HEADERS} headers")
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200 and not self.has_extra:
            self.head = ResponseHead(status, self._headers)

    def on_body(self, body: bytes) -> None:
        if not self.has_extra:
            self._body.append(body)
            self.unread += len(body)

    def on_message_complete(self) -> None:
        # A message without a head is an informational response: the real one follows.
        if self.head is not None and not self.is_complete:
            self.is_complete = True
            self.keeps_open = self._parser.should_keep_alive()


class HttpConnection(asyncio.Protocol):
    """One TCP connection; one request at a time.

    A response is parsed as it arrives, so the request waits once for a short response.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._response = _ResponseParser()
        # Set while a request waits for more of its response.
        self._arrival: asyncio.Future[None] | None = None
        self._is_idle = True
        self._idle_since = 0.0
        self._is_paused = False
        # Nothing more arrives; `_failure` says why, unless the server closed the connection.
        self._has_ended = False
        self._failure: TransportError | None = None
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._heads: dict[tuple[object, ...], bytes] = {}

    @property
    def address(self) -> str | None:
        """The IP address of the server."""
        peer = None if self._transport is None else self._transport.get_extra_info("peername")
        return None if peer is None else str(peer[0])

    @property
    def is_done(self) -> bool:
        """Whether the response has arrived to its end."""
        return self._response.is_complete

    @property
    def has_more(self) -> bool:
        """Whether a part of the body has not been read yet."""
        return self._response.unread > 0 or not self._response.is_complete

    def is_fresh(self, seconds: float) -> bool:
        """Whether the connection was idle for less than `seconds` and still looks open."""
        return not self._has_ended and self._loop.time() - self._idle_since < seconds

    def recycle(self) -> bool:
        """Prepare for another request; False if the connection cannot be reused."""
        response = self._response
        if not (response.is_complete and response.keeps_open) or response.has_extra:
            return False
        self._response = _ResponseParser()
        self._is_idle = True
        self._idle_since = self._loop.time()
        self._resume()
        return not self._has_ended

    def close(self) -> None:
        """Close the connection, even if a response is incomplete."""
        if self._transport is None:
            return
        if self._transport.get_write_buffer_size():
            # A graceful close would wait for the unsent data, which is no longer needed.
            self._transport.abort()
        self._transport.close()

    async def wait_closed(self) -> None:
        """Wait briefly until the connection is closed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.shield(self._closed)

    # -- called by the transport ------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the transport of the new connection."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Parse a part of the response."""
        if self._is_idle:
            # Nothing was asked: it must not become the response to the next request.
            self.close()
            self._end()
        if self._has_ended:
            return
        response = self._response
        try:
            response.feed(data)
        except httptools.HttpParserError as error:
            # An exception in a callback is the cause.
            self._end(self._invalid(f": {error.__cause__ or error}"))
            return
        if response.unread > _MAX_UNREAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Take the end of what the server sends."""
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end of the connection."""
        failure = None
        if isinstance(exc, OSError):
            text = f"The connection to {self.endpoint} failed: {explain_os_error(exc)}"
            failure = TransportError(text)
        self._end(failure)
        if not self._closed.done():
            self._closed.set_result(None)

    def _end(self, failure: TransportError | None = None) -> None:
        if self._has_ended:
            return
        self._has_ended, self._failure = True, failure
        if failure is None:
            self._response.feed_end()
        self._wake()

    def _wake(self) -> None:
        arrival = self._arrival
        if arrival is not None and not arrival.done():
            arrival.set_result(None)

    def _resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            assert self._transport is not None
            self._transport.resume_reading()

    # -- called by the pool -----------------------------------------------------------------

    async def send(self, method: str, resource: str, headers: Headers, body: bytes) -> ResponseHead:
        """Write a request and wait for the head of its response."""
        head = self._make_head(method, resource, headers)
        if body or method == "POST":
            head += b"Content-Length: %d\r\n" % len(body)
        assert self._transport is not None
        self._is_idle = False
        self._transport.write(b"%b\r\n%b" % (head, body))
        response = self._response
        while response.head is None:
            await self._more()
        return response.head

    def _make_head(self, method: str, resource: str, headers: Headers) -> bytes:
        """The head of a request without its end; most are the same as one before."""
        key = (method, resource, *headers)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _MAX_HEADS:
                self._heads.clear()
            lines = [f"{method} {resource} HTTP/1.1", f"Host: {self.endpoint.authority}"]
            lines += [f"{name}: {value}" for name, value in headers]
            if any(character in line for line in lines for character in "\r\n\0"):
                raise PeerError("A header of the request contains a line break")
            head = self._heads[key] = "".join(f"{line}\r\n" for line in lines).encode("latin-1")
        return head

    async def read(self) -> bytes:
        """The next chunk of the body; empty at its end."""
        response = self._response
        while not (chunk := response.take_body()) and not response.is_complete:
            await self._more()
        self._resume()
        return chunk

    def _more(self) -> asyncio.Future[None]:
        """What to await for more of the response; raises TransportError if there is no more."""
        if self._has_ended:
            if self._failure is not None:
                raise self._failure
            if self._response.head is None:
                text = f"{self.endpoint} closed the connection without a response"
                raise TransportError(text)
            raise self._invalid()
        self._arrival = self._loop.create_future()
        return self._arrival

    def _invalid(self, reason: str = "") -> TransportError:
        return TransportError(
            f"{self.endpoint} sent an incomplete or invalid HTTP response{reason}"
        )


def explain_os_error(error: OSError) -> str:
    """A readable reason for a connection error."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused; no server is listening there"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "the server does not speak TLS; try an http:// URL"
    return error.strerror or str(error) or type(error).__name__
