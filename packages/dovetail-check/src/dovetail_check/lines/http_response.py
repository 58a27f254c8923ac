"""One HTTP/1.1 exchange on its own connection: all goes out as given, all is kept as it came."""

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

__all__ = ["ResponseReader", "Sink", "close_writer", "connect", "encode_request", "host_of"]

_LIMIT = 64 * 1024 * 1024
_CHUNK = 65536
_CONNECT_TIMEOUT = 10.0


class Sink(Protocol):
    """Where the parts of a response go."""

    def take_whole(self, head: h11.Response, body: bytes) -> None:
        """A response that is no stream; also one that was cut short."""

    def take_head(self, head: h11.Response) -> None:
        """The head of a stream."""

    def take_event(self, event: SseEvent) -> None:
        """One event of a stream."""

    def take_quiet(self, id: bytes | None, retry: int | None) -> None:
        """An id or a retry without data: no event, but part of the stream."""


class ResponseReader:
    """Reads one response; raises OSError, EOFError, PeerError, h11.RemoteProtocolError."""

    def __init__(self, verb: str, sink: Sink, limit: int = _LIMIT) -> None:
        self._sink = sink
        self._limit = limit
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
        # h11 wants to know what was asked before it reads an answer.
        self._connection.send(h11.Request(method=verb, target=b"/", headers=[(b"host", b"x")]))
        self._connection.send(h11.EndOfMessage())
        self._head: h11.Response | None = None
        self._has_begun = False
        self._body = bytearray()
        self._sse: SseBuffer | None = None
        self._seen: tuple[bytes, int | None] = (b"", None)

    @property
    def has_begun(self) -> bool:
        """Whether anything came."""
        return self._has_begun

    @property
    def is_clean(self) -> bool:
        """Whether the connection can carry another exchange."""
        connection = self._connection
        is_over = connection.our_state is h11.DONE and connection.their_state is h11.DONE
        return is_over and not connection.trailing_data[0]

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Read to the end of the response."""
        try:
            await self._read(reader)
        finally:
            # What came of a response that was cut short, or given up, is evidence as well.
            if self._head is not None and self._sse is None:
                self._sink.take_whole(self._head, bytes(self._body))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                data = await reader.read(_CHUNK)
                self._has_begun = self._has_begun or bool(data)
                if not data and self._head is None:
                    raise EOFError("the connection was closed without a response")
                self._connection.receive_data(data)
            elif isinstance(event, h11.Response):
                self._take_head(event)
            elif isinstance(event, h11.Data):
                self._take_data(bytes(event.data))
            elif event is h11.PAUSED or isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
                return

    def _take_head(self, head: h11.Response) -> None:
        self._head = head
        kind = dict(head.headers).get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind == b"text/event-stream":
            self._sse = SseBuffer(_LIMIT)
            self._sink.take_head(head)

    def _take_data(self, data: bytes) -> None:
        if self._sse is None:
            self._body += data
            if len(self._body) > self._limit:
                raise PeerError(f"a body of more than {self._limit:,} bytes")
            return
        # Line by line, so that what makes no event keeps its place among the events.
        for line in data.splitlines(keepends=True):
            for event in self._sse.feed(line):
                self._seen = (self._sse.last_event_id, self._sse.retry)
                self._sink.take_event(event)
            if not line.strip(b"\r\n"):
                self._look_for_quiet(self._sse)

    def _look_for_quiet(self, sse: SseBuffer) -> None:
        before, self._seen = self._seen, (sse.last_event_id, sse.retry)
        id, retry = self._seen
        if self._seen != before:
            self._sink.take_quiet(
                id if id != before[0] else None, retry if retry != before[1] else None
            )


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the host of a URL; raises OSError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise OSError(f"{url!r} is no URL: {error}") from None
    is_tls = parts.scheme == "https"
    try:
        async with asyncio.timeout(_CONNECT_TIMEOUT):
            return await asyncio.open_connection(
                parts.hostname,
                port or (443 if is_tls else 80),
                limit=_LIMIT,
                ssl=ssl.create_default_context() if is_tls else None,
                # A peer that does not say goodbye must not hold up the check.
                ssl_shutdown_timeout=1.0 if is_tls else None,
            )
    except TimeoutError:
        raise OSError(f"no connection within {_CONNECT_TIMEOUT:g} s") from None
    except UnicodeError as error:
        raise OSError(f"{parts.hostname!r} is no name of a host: {error}") from None


async def close_writer(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whatever state it is in."""
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        await writer.wait_closed()


def encode_request(verb: str, url: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """The bytes of a request; nothing is checked, because a probe may mean it."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{verb} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def host_of(url: str) -> str:
    """What the Host header says."""
    return urlsplit(url).netloc.rpartition("@")[2]
