"""Thousands of open streams, and one change that all of them have to hear of."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, cast

from qa.soak.http_client import Connection, WrongAnswerError, open_session, read_chunks
from qa.soak.messages import NOTE, call, get_stream, listen, subscribe
from qa.soak.processes import HttpServer
from qa.soak.verdicts import Effort, Verdict

__all__ = ["measure_legacy_streams", "measure_streams"]

_MOST_CPU = 1.0
_OPENING = 100
_PATIENCE = 60.0
# Seconds in which a second notification would have come, if one was sent.
_REST = 1.0

_UPDATED = "notifications/resources/updated"
_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


async def measure_streams(effort: Effort) -> list[Verdict]:
    """Modern: each notification carries the id of its own subscription."""

    async def request(connection: Connection, number: int) -> bytes:
        return listen(f"stream-{number}")

    def is_right(number: int, params: dict[str, Any]) -> bool:
        meta = params.get("_meta", {})
        return params.get("uri") == NOTE and meta.get(_SUBSCRIPTION_ID) == f"stream-{number}"

    with HttpServer() as server:
        # The acknowledgement is the first thing on the stream.
        streams = await _open(server, effort.streams, request, b"acknowledged")
        return await _deliver(server, streams, is_right, "subscriptions/listen", _MOST_CPU)


async def measure_legacy_streams(effort: Effort) -> list[Verdict]:
    """Legacy: a session each, subscribed, with its GET stream."""

    async def request(connection: Connection, number: int) -> bytes:
        session = await open_session(connection)
        told = await connection.exchange(subscribe(session))
        if told.status != 200 or b'"result"' not in told.body:
            raise WrongAnswerError(f"no subscription: {told.status} {told.body[:300]!r}")
        return get_stream(session)

    with HttpServer() as server:
        # The event that gives the client an id to come back with.
        streams = await _open(server, effort.streams, request, b"id: ")
        return await _deliver(
            server, streams, lambda _, params: params.get("uri") == NOTE, "legacy GET", None
        )


class _Stream(asyncio.Protocol):
    """Keeps what comes, and says when it is what somebody waits for."""

    def __init__(self, arrived: Callable[[], None]) -> None:
        self.data = bytearray()
        self.transport: asyncio.Transport | None = None
        self.is_lost = False
        self._arrived = arrived
        self._awaited: bytes | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not checked: uvloop's transports derive from nothing of asyncio's.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.data += data
        if self._awaited is not None and self._awaited in self.data:
            self._awaited = None
            self._arrived()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True

    def await_(self, text: bytes) -> None:
        self._awaited = text

    def updates(self) -> list[dict[str, Any]]:
        """The parameters of the notifications that came."""
        _, _, body = bytes(self.data).partition(b"\r\n\r\n")
        found = []
        for line in read_chunks(body).split(b"\n"):
            if line.startswith(b"data: {"):
                message = json.loads(line.removeprefix(b"data: "))
                if message.get("method") == _UPDATED:
                    found.append(message["params"])
        return found


class _Streams:
    """All of them, and the moment at which the last one has what it waits for."""

    def __init__(self) -> None:
        self.all: list[_Stream] = []
        self._left = 0
        self._complete = asyncio.Event()

    def new(self) -> _Stream:
        stream = _Stream(self._one)
        self.all.append(stream)
        return stream

    def await_(self, text: bytes) -> None:
        """From now on every stream waits for this text."""
        self._left = len(self.all)
        self._complete.clear()
        for stream in self.all:
            stream.await_(text)

    def _one(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._complete.set()

    async def complete(self) -> int:
        """Wait; how many have not got it when patience is over."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._complete.wait()
        except TimeoutError:
            pass
        return self._left


async def _open(
    server: HttpServer,
    count: int,
    request: Callable[[Connection, int], Any],
    first_words: bytes,
) -> _Streams:
    loop = asyncio.get_running_loop()
    streams = _Streams()
    room = asyncio.Semaphore(_OPENING)
    opened = [streams.new() for _ in range(count)]
    streams.await_(first_words)

    async def open_one(number: int) -> None:
        async with room:
            connection = await Connection.open(server.port)
            asked = await request(connection, number)
            await connection.close()
            await loop.create_connection(lambda: opened[number], "127.0.0.1", server.port)
            transport = opened[number].transport
            assert transport is not None
            transport.write(asked)

    await asyncio.gather(*(open_one(number) for number in range(count)))
    missing = await streams.complete()
    if missing:
        raise WrongAnswerError(f"{missing} of {count} streams did not open")
    return streams


async def _deliver(
    server: HttpServer,
    streams: _Streams,
    is_right: Callable[[int, dict[str, Any]], bool],
    title: str,
    most_cpu: float | None,
) -> list[Verdict]:
    held = await server.counts()
    streams.await_(_UPDATED.encode())
    caller = await Connection.open(server.port)
    cpu, began = server.cpu, time.perf_counter()
    await caller.exchange(call(None, 1, "touch"))
    await streams.complete()
    took = time.perf_counter() - began
    cpu = server.cpu - cpu
    await asyncio.sleep(_REST)
    await caller.close()
    right = 0
    for number, stream in enumerate(streams.all):
        updates = stream.updates()
        right += len(updates) == 1 and is_right(number, updates[0]) and not stream.is_lost
    for stream in streams.all:
        if stream.transport is not None:
            stream.transport.abort()
    after = await server.counts_once(lambda found: not found["streams"], 10)
    count = len(streams.all)
    promised = most_cpu is not None
    return [
        Verdict(
            f"{count:,} {title} streams, one change: exactly one notification each, the right one",
            "all" if promised else "-",
            f"{right:,} of {held['streams']:,}",
            right == count == held["streams"] if promised else None,
        ),
        Verdict(
            f"CPU of the server to deliver to {count:,} {title} streams, and time",
            f"under {most_cpu:g} s of CPU" if promised else "-",
            f"{cpu:.2f} s of CPU, {took:.2f} s",
            cpu < most_cpu if most_cpu is not None else None,
        ),
        Verdict(
            f"streams and calls open when the {title} clients are gone",
            "0, 0",
            f"{after['streams']}, {after['calls']}",
            not after["streams"] and not after["calls"],
        ),
    ]
