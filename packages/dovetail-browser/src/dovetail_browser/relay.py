"""Relays bytes between the browser and the upstream server, with limits on size and time.

Addresses are checked before a connection gets here.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from dovetail_browser.http_heads import RequestHead, ResponseHead, parse_response

__all__ = [
    "HEAD_END",
    "Connection",
    "EgressLimits",
    "InvalidResponseError",
    "ResponseTooLargeError",
    "forward",
    "tunnel",
]

HEAD_END = b"\r\n\r\n"
_CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressLimits:
    """Limits of the proxy."""

    # Few servers accept more, and the cookies of large sites are smaller.
    head_bytes: int = 65_536
    # Chromium opens at most 32 connections per context to a proxy.
    connections: int = 512
    response_bytes: int = 50_000_000
    connect_seconds: float = 10.0
    idle_seconds: float = 300.0
    # In a tunnel, a pause of this length separates two responses.
    pause_seconds: float = 1.0


class ResponseTooLargeError(Exception):
    """A response exceeds the size limit."""


class InvalidResponseError(Exception):
    """The upstream server did not send a valid HTTP response."""


class Connection:
    """The reader and writer of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def abort(self) -> None:
        """Close at once and discard unsent data."""
        self.writer.transport.abort()

    async def close(self) -> None:
        """Flush and close."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class _Meter:
    """Counts the bytes of the current response, and records the time of the last activity."""

    def __init__(self, limits: EgressLimits) -> None:
        self._limits = limits
        self._bytes = 0
        self._moved = self._came = time.monotonic()

    def count(self, size: int, *, until_pause: bool) -> None:
        """Count bytes received from the upstream server."""
        now = time.monotonic()
        if until_pause and now - self._came > self._limits.pause_seconds:
            self._bytes = 0
        self._bytes += size
        self._moved = self._came = now
        if self._bytes > self._limits.response_bytes:
            raise ResponseTooLargeError

    def touch(self) -> None:
        """Record activity of the client."""
        self._moved = time.monotonic()

    async def read(self, reader: asyncio.StreamReader, most: int = _CHUNK) -> bytes:
        """Read the next bytes; raise TimeoutError if both sides were idle for too long."""
        while True:
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    return await reader.read(most)
            except TimeoutError:
                if time.monotonic() - self._moved >= self._limits.idle_seconds:
                    raise


async def tunnel(client: Connection, upstream: Connection, limits: EgressLimits) -> None:
    """Relay both directions until one side closes. Browsers do not half-close connections."""
    meter = _Meter(limits)
    await _run_first(
        _copy_up(client, upstream, meter), _copy_down(upstream, client, meter, until_pause=True)
    )


async def forward(
    client: Connection, upstream: Connection, head: RequestHead, limits: EgressLimits
) -> None:
    """Relay the body of one request and its response."""
    meter = _Meter(limits)
    await _run_first(
        _send_body(client, upstream, head.body_length or 0, meter),
        _receive(client, upstream, meter, limits, has_body=head.method != "HEAD"),
    )


async def _run_first(*ways: Coroutine[Any, Any, None]) -> None:
    """Run all until the first one ends, then cancel the others. Raises its exception."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy_up(client: Connection, upstream: Connection, meter: _Meter) -> None:
    while data := await meter.read(client.reader):
        meter.touch()
        upstream.writer.write(data)
        await upstream.writer.drain()


async def _copy_down(
    upstream: Connection, client: Connection, meter: _Meter, *, until_pause: bool
) -> None:
    while data := await meter.read(upstream.reader):
        meter.count(len(data), until_pause=until_pause)
        client.writer.write(data)
        await client.writer.drain()


async def _send_body(client: Connection, upstream: Connection, length: int, meter: _Meter) -> None:
    left = length
    while left and (data := await meter.read(client.reader, min(left, _CHUNK))):
        left -= len(data)
        meter.touch()
        upstream.writer.write(data)
        await upstream.writer.drain()
    # The browser closes the connection after the response or when it aborts. Further data is
    # discarded, because its destination was not checked.
    while await client.reader.read(_CHUNK):
        pass


async def _receive(
    client: Connection, upstream: Connection, meter: _Meter, limits: EgressLimits, *, has_body: bool
) -> None:
    head = await _read_head(upstream, limits)
    while head.is_interim:
        client.writer.write(head.forwarded())
        head = await _read_head(upstream, limits)
    if has_body and head.length > limits.response_bytes:
        raise ResponseTooLargeError
    client.writer.write(head.forwarded())
    await _copy_down(upstream, client, meter, until_pause=False)


async def _read_head(upstream: Connection, limits: EgressLimits) -> ResponseHead:
    try:
        async with asyncio.timeout(limits.idle_seconds):
            head = parse_response(await upstream.reader.readuntil(HEAD_END))
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = None
    if head is None:
        raise InvalidResponseError
    return head
