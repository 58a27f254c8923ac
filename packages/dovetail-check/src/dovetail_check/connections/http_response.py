"""One HTTP/1.1 exchange: requests are sent without validation, responses are kept as received."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

import h11

from dovetail.errors import PeerError
from dovetail.wire.framing import SseBuffer, SseEvent

__all__ = [
    "ResponseHandler",
    "ResponseReader",
    "close_writer",
    "connect",
    "encode_request",
    "host_of",
]

_LIMIT = 64 * 1024 * 1024
_CHUNK = 65536
_MAX_JUNK = 64 * 1024
# The fields of an SSE stream; a comment has an empty name.
_FIELDS = (b"", b"data", b"event", b"id", b"retry")
_CONNECT_TIMEOUT = 10.0


class ResponseHandler(Protocol):
    """Receives the parts of a response; its methods may raise FloodError."""

    def on_data(self, data: bytes) -> None:
        """A part of the response, as it was received."""

    def on_response(self, head: h11.Response, body: bytes) -> None:
        """A response that is not a stream, complete or truncated."""

    def on_head(self, head: h11.Response) -> None:
        """The head of an SSE stream."""

    def on_event(self, event: SseEvent) -> None:
        """One event of an SSE stream."""

    def on_fields(self, id: bytes | None, retry: int | None) -> None:
        """An `id` or `retry` field without data, which is not an event."""

    def on_junk(self, line: bytes) -> None:
        """A line of an SSE stream that is neither a field nor a comment."""


class ResponseReader:
    """Reads one response; raises OSError, EOFError, PeerError, h11.RemoteProtocolError."""

    def __init__(self, verb: str, handler: ResponseHandler, limit: int = _LIMIT) -> None:
        self._handler = handler
        self._limit = limit
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        # h11 reads a response only after it has sent a request.
        self._connection.send(h11.Request(method=verb, target=b"/", headers=[(b"host", b"x")]))
        self._connection.send(h11.EndOfMessage())
        self._head: h11.Response | None = None
        self._has_started = False
        self._body = bytearray()
        self._sse: SseBuffer | None = None
        self._line = bytearray()
        self._last_fields: tuple[bytes, int | None] = (b"", None)

    @property
    def has_started(self) -> bool:
        """Whether any byte was received."""
        return self._has_started

    @property
    def reusable(self) -> bool:
        """Whether the connection can carry another request."""
        connection = self._connection
        is_over = connection.our_state is h11.DONE and connection.their_state is h11.DONE
        return is_over and not connection.trailing_data[0]

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Read the response to its end."""
        try:
            await self._read(reader)
        finally:
            # A truncated or abandoned response is evidence as well.
            if self._head is not None and self._sse is None:
                self._handler.on_response(self._head, bytes(self._body))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                data = await reader.read(_CHUNK)
                self._has_started = self._has_started or bool(data)
                if not data and self._head is None:
                    raise EOFError("the connection was closed without a response")
                self._handler.on_data(data)
                self._connection.receive_data(data)
            elif isinstance(event, h11.Response):
                self._read_head(event)
            elif isinstance(event, h11.Data):
                self._read_data(bytes(event.data))
            elif event is h11.PAUSED or isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                return

    def _read_head(self, head: h11.Response) -> None:
        self._head = head
        kind = dict(head.headers).get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind == b"text/event-stream":
            self._sse = SseBuffer(_LIMIT)
            self._handler.on_head(head)

    def _read_data(self, data: bytes) -> None:
        if self._sse is None:
            self._body += data
            if len(self._body) > self._limit:
                raise PeerError(f"the body is larger than {self._limit:,} bytes")
            return
        # Feed line by line, so that fields without data are reported in order with the events.
        for line in data.splitlines(keepends=True):
            for event in self._sse.feed(line):
                self._last_fields = (self._sse.last_event_id, self._sse.retry)
                self._handler.on_event(event)
            if not line.strip(b"\r\n"):
                self._report_fields(self._sse)
            self._find_junk(line)

    def _find_junk(self, part: bytes) -> None:
        """Report a line that is not of the SSE format; a chunk may end within a line."""
        if len(self._line) < _MAX_JUNK:
            self._line += part
        if not part.endswith((b"\r", b"\n")):
            return
        line, self._line = bytes(self._line).strip(b"\r\n\xef\xbb\xbf"), bytearray()
        if line and line.partition(b":")[0] not in _FIELDS:
            self._handler.on_junk(line)

    def _report_fields(self, sse: SseBuffer) -> None:
        before, self._last_fields = self._last_fields, (sse.last_event_id, sse.retry)
        id, retry = self._last_fields
        if self._last_fields != before:
            self._handler.on_fields(
                id if id != before[0] else None, retry if retry != before[1] else None
            )


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Open a connection to the host of the URL; raises OSError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise OSError(f"{url!r} is not a URL: {error}") from None
    is_tls = parts.scheme == "https"
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT):
            return await asyncio.open_connection(
                parts.hostname,
                port or (443 if is_tls else 80),
                limit=_CHUNK,
                ssl=ssl.create_default_context() if is_tls else None,
                # Do not wait long for a peer that skips the TLS closure.
                ssl_shutdown_timeout=1.0 if is_tls else None,
            )
    except TimeoutError:
        raise OSError(f"no connection within {_CONNECT_TIMEOUT:g} s") from None
    except UnicodeError as error:
        raise OSError(f"{parts.hostname!r} is not a host name: {error}") from None


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Close a connection and ignore errors."""
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        await writer.wait_closed()


def encode_request(verb: str, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the bytes of a request. Nothing is validated: probes send invalid requests."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{verb} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def host_of(url: str) -> str:
    """Return the value of the Host header for a URL."""
    return urlsplit(url).netloc.rpartition("@")[2]
