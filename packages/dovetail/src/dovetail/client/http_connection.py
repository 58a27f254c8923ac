"""HTTP/1.1 as far as a client needs it: one exchange at a time on a connection.

h11 knows the protocol, asyncio moves the bytes. Bodies are read piece by piece, because a
stream of events may never end. A connection whose body was not read to its end is closed and
not kept: closing is how a client says that it no longer listens. Knows nothing of MCP.
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

__all__ = ["Headers", "HttpConnection", "HttpResponse", "explain_os_error"]

Headers = Sequence[tuple[str, str]]

_CHUNK = 65536
# How long a connection may take to say goodbye.
_CLOSE_SECONDS = 1.0


class HttpResponse:
    """The head of a response, and its body as it comes."""

    def __init__(self, connection: HttpConnection, head: h11.Response, endpoint: Endpoint) -> None:
        # Where it came from, after redirects.
        self.endpoint = endpoint
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
    def coding(self) -> str:
        """How the body is packed; nothing for one that is not."""
        coding = self.headers.get("content-encoding", "").strip().lower()
        return "" if coding == "identity" else coding

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
                raise PeerError(
                    f"{self.endpoint} sent a body longer than the limit of {limit} bytes"
                )
        return bytes(body)


class HttpConnection:
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
        """Let go of it, whatever is under way."""
        if self._writer.transport.get_write_buffer_size():
            # Nobody needs what was not sent yet; a graceful end would wait for it.
            self._writer.transport.abort()
        self._writer.close()

    async def wait_closed(self) -> None:
        """Wait a moment until it is gone."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()

    async def send(self, method: str, resource: str, headers: Headers, body: bytes) -> h11.Response:
        """Write a request and wait for the head of its response."""
        fields = [("Host", self.endpoint.authority), *headers]
        if body or method == "POST":
            fields.append(("Content-Length", str(len(body))))
        request = h11.Request(method=method, target=resource, headers=fields)
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
            text = f"The connection to {self.endpoint} broke: {explain_os_error(error)}"
            raise TransportError(text) from None
        return event


def explain_os_error(error: OSError) -> str:
    """What went wrong with a connection, as people read it."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens there (connection refused)"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "what it says is no TLS; an http:// URL may be what is meant"
    return error.strerror or str(error) or type(error).__name__
