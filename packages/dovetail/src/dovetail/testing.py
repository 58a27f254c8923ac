"""For the tests of your own server: a client in the same process, and raw messages.

    async with connect(server) as client:            # in an async test
        assert (await client.call("add", {"a": 1})).data == 2

    assert call(server, "add", {"a": 1}).data == 2   # in a plain one

`transcript` sends raw messages and returns raw answers, for tests that pin the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dovetail.client import CallResult, Client, ReadResult
from dovetail.client.era import ChangeCallback, LogCallback
from dovetail.client.inputs import ElicitCallback, RootsSource, SampleCallback
from dovetail.errors import UsageError
from dovetail.server import Server
from dovetail.spec import keys
from dovetail.spec.revisions import Family, Revision, find_revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request, Response

__all__ = ["call", "connect", "read", "transcript"]


@asynccontextmanager
async def connect(
    server: Server,
    *,
    mode: str = "auto",
    timeout: float = 5.0,
    elicit: ElicitCallback | None = None,
    sample: SampleCallback | None = None,
    roots: RootsSource | None = None,
    on_log: LogCallback | None = None,
    on_change: ChangeCallback | None = None,
) -> AsyncIterator[Client]:
    """A client of `server`; leaves the server's lifespan at the end."""
    client = Client(
        server,
        mode=mode,
        timeout=timeout,
        elicit=elicit,
        sample=sample,
        roots=roots,
        on_log=on_log,
        on_change=on_change,
    )
    try:
        async with client:
            yield client
    finally:
        await server.close()


def call(
    server: Server, tool: str, arguments: Mapping[str, Any] | None = None, *, mode: str = "auto"
) -> CallResult:
    """Call one tool, in an event loop of its own."""

    async def run() -> CallResult:
        async with connect(server, mode=mode) as client:
            return await client.call(tool, arguments)

    return asyncio.run(run())


def read(server: Server, uri: str, *, mode: str = "auto") -> ReadResult:
    """Read one resource, in an event loop of its own."""

    async def run() -> ReadResult:
        async with connect(server, mode=mode) as client:
            return await client.read(uri)

    return asyncio.run(run())


def transcript(
    server: Server,
    messages: Iterable[str | bytes | Mapping[str, Any]],
    *,
    revision: str | None = None,
    timeout: float = 5.0,
) -> list[str]:
    """Send messages one by one, each request answered before the next; all that came back.

    Without a revision the messages go out as they are. With one, a legacy server has
    been initialized before, and a modern request gets the `_meta` it lacks.
    """
    spoken = None if revision is None else find_revision(revision)
    if revision is not None and spoken is None:
        raise UsageError(f"There is no revision {revision!r}")
    return asyncio.run(_exchange(server, [_prepare(m, spoken) for m in messages], spoken, timeout))


async def _exchange(
    server: Server, messages: list[bytes], revision: Revision | None, timeout: float
) -> list[str]:
    wire = _Wire(server)
    try:
        async with asyncio.timeout(timeout):
            if revision is not None and revision.family is Family.LEGACY:
                for opening in _handshake(revision):
                    await wire.send(opening)
            skipped = len(wire.lines)
            for message in messages:
                await wire.send(message)
            # Answers to what is no request come before the answer to this one.
            await wire.send(b'{"jsonrpc":"2.0","id":"end-of-transcript","method":"ping"}')
    finally:
        await wire.close()
        await server.close()
    return [line.decode() for line in wire.lines[skipped:-1]]


class _Wire:
    """The server's end of the wire, and everything that came out of it."""

    def __init__(self, server: Server) -> None:
        self.lines: list[bytes] = []
        self._waiting: dict[bytes | None, asyncio.Event] = {}
        self._is_open = True
        self._connection = server.connect(self._receive)

    def _receive(self, line: bytes) -> None:
        if self._is_open:
            self.lines.append(line)
        answered = self._waiting.get(_find_answered(line))
        if answered is not None:
            answered.set()

    async def send(self, line: bytes) -> None:
        """Send; a request waits for its answer, a listen stream for its acknowledgement."""
        message = codec.decode(line)
        if not isinstance(message, Request):
            self._connection.receive(line)
            return
        answered = self._waiting[message.id] = asyncio.Event()
        self._connection.receive(line)
        await answered.wait()

    async def close(self) -> None:
        """Whatever the server says on leaving is no part of the transcript."""
        self._is_open = False
        await self._connection.close()


def _find_answered(line: bytes) -> bytes | None:
    """The id of the request that a line answers or acknowledges."""
    message = codec.decode(line)
    if isinstance(message, Response):
        return message.id
    if isinstance(message, Notification) and message.method.endswith("/acknowledged"):
        meta = codec.decode_json(message.params or b"{}").get("_meta", {})
        return codec.encode(meta.get(keys.SUBSCRIPTION_ID))
    return None


def _handshake(revision: Revision) -> list[bytes]:
    params = {
        "protocolVersion": revision.date,
        "capabilities": {},
        "clientInfo": {"name": "transcript", "version": "0"},
    }
    return [
        codec.encode_request(b'"handshake"', "initialize", codec.encode(params)),
        codec.encode_notification("notifications/initialized"),
    ]


def _prepare(message: str | bytes | Mapping[str, Any], revision: Revision | None) -> bytes:
    if isinstance(message, Mapping):
        line = codec.encode(message)
    else:
        line = message.encode() if isinstance(message, str) else message
    if revision is None or revision.family is Family.LEGACY:
        return line
    request = codec.decode(line)
    if not isinstance(request, Request):
        return line
    params = {} if request.params is None else codec.decode_json(request.params)
    envelope = {keys.PROTOCOL_VERSION: revision.date, keys.CLIENT_CAPABILITIES: {}}
    params["_meta"] = {**envelope, **params.get("_meta", {})}
    return codec.encode_request(request.id, request.method, codec.encode(params))
