"""Carrying bytes between the browser and the other side, counted and with an end.

Knows connections and limits; who may be connected to is decided before anything comes here.
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
    "EgressLimits",
    "Line",
    "TooLongError",
    "UnreadableError",
    "forward",
    "tunnel",
]

HEAD_END = b"\r\n\r\n"
_CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressLimits:
    """How much goes through before the proxy says no."""

    # Servers seldom take more; the cookies of a large site stay below it.
    head_bytes: int = 65_536
    # Chromium opens at most 32 per context to a proxy.
    connections: int = 512
    response_bytes: int = 50_000_000
    connect_seconds: float = 10.0
    idle_seconds: float = 300.0
    # A pause this long inside a tunnel separates one response from the next.
    pause_seconds: float = 1.0


class TooLongError(Exception):
    """A response has more bytes than one may have."""


class UnreadableError(Exception):
    """The other side did not answer with HTTP."""


class Line:
    """Both directions of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def abort(self) -> None:
        """Drop it, and what was not sent yet."""
        self.writer.transport.abort()

    async def close(self) -> None:
        """Send what is left and close."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class _Meter:
    """The bytes of the response under way, and when something last moved either way."""

    def __init__(self, limits: EgressLimits) -> None:
        self._limits = limits
        self._bytes = 0
        self._moved = self._came = time.monotonic()

    def count(self, size: int, *, until_pause: bool) -> None:
        """Bytes came from the other side."""
        now = time.monotonic()
        if until_pause and now - self._came > self._limits.pause_seconds:
            self._bytes = 0
        self._bytes += size
        self._moved = self._came = now
        if self._bytes > self._limits.response_bytes:
            raise TooLongError

    def touch(self) -> None:
        """Bytes went to the other side."""
        self._moved = time.monotonic()

    async def read(self, reader: asyncio.StreamReader, most: int = _CHUNK) -> bytes:
        """The next bytes; TimeoutError when neither side has said anything for long."""
        while True:
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    return await reader.read(most)
            except TimeoutError:
                if time.monotonic() - self._moved >= self._limits.idle_seconds:
                    raise


async def tunnel(client: Line, upstream: Line, limits: EgressLimits) -> None:
    """Carry everything both ways until one side ends. Browsers do not close by halves."""
    meter = _Meter(limits)
    await _run_first(
        _carry_up(client, upstream, meter), _carry_down(upstream, client, meter, until_pause=True)
    )


async def forward(client: Line, upstream: Line, head: RequestHead, limits: EgressLimits) -> None:
    """Carry the body of one request and the one answer to it."""
    meter = _Meter(limits)
    await _run_first(
        _send_body(client, upstream, head.body_length or 0, meter),
        _receive(client, upstream, meter, limits, has_body=head.method != "HEAD"),
    )


async def _run_first(*ways: Coroutine[Any, Any, None]) -> None:
    """Run both; when one has ended, so has the other. Raises what it raised."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carry_up(client: Line, upstream: Line, meter: _Meter) -> None:
    while data := await meter.read(client.reader):
        meter.touch()
        upstream.writer.write(data)
        await upstream.writer.drain()


async def _carry_down(upstream: Line, client: Line, meter: _Meter, *, until_pause: bool) -> None:
    while data := await meter.read(upstream.reader):
        meter.count(len(data), until_pause=until_pause)
        client.writer.write(data)
        await client.writer.drain()


async def _send_body(client: Line, upstream: Line, length: int, meter: _Meter) -> None:
    left = length
    while left and (data := await meter.read(client.reader, min(left, _CHUNK))):
        left -= len(data)
        meter.touch()
        upstream.writer.write(data)
        await upstream.writer.drain()
    # The browser hangs up when it has what it wanted, or wants it no longer. Anything else that it
    # says was not judged and goes nowhere.
    while await client.reader.read(_CHUNK):
        pass


async def _receive(
    client: Line, upstream: Line, meter: _Meter, limits: EgressLimits, *, has_body: bool
) -> None:
    head = await _read_head(upstream, limits)
    while head.is_interim:
        client.writer.write(head.forwarded())
        head = await _read_head(upstream, limits)
    if has_body and head.length > limits.response_bytes:
        raise TooLongError
    client.writer.write(head.forwarded())
    await _carry_down(upstream, client, meter, until_pause=False)


async def _read_head(upstream: Line, limits: EgressLimits) -> ResponseHead:
    try:
        async with asyncio.timeout(limits.idle_seconds):
            head = parse_response(await upstream.reader.readuntil(HEAD_END))
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        head = None
    if head is None:
        raise UnreadableError
    return head
