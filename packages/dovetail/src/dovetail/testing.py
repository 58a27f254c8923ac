"""Helpers for testing your server: an in-process client, and raw messages.

    async with connect(server) as client:            # in an async test
        assert (await client.call("add", {"a": 1})).data == 2

    assert call(server, "add", {"a": 1}).data == 2   # in a sync test

`transcript` sends raw messages and returns the raw responses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from dovetail.client import CallResult, Client, ReadResult
from dovetail.client.callbacks import ElicitCallback, RootsSource, SampleCallback
from dovetail.client.era import ChangeCallback, LogCallback
from dovetail.client.targets import LocalCaller
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.server import Server
from dovetail.spec import keys
from dovetail.spec.revisions import Family, Revision, find_revision
from dovetail.state.backend_tests import BackendTests
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request, Response

if TYPE_CHECKING:
    from dovetail.auth import Guard

__all__ = ["BackendTests", "call", "connect", "read", "transcript"]


@asynccontextmanager
async def connect(  # noqa: PLR0913 - optional keyword parameters
    server: Server,
    *,
    mode: str = "auto",
    timeout: float = 5.0,
    elicit: ElicitCallback | None = None,
    sample: SampleCallback | None = None,
    roots: RootsSource | None = None,
    on_log: LogCallback | None = None,
    on_change: ChangeCallback | None = None,
    principal: Principal | str | None = None,
    guard: Guard | None = None,
) -> AsyncIterator[Client]:
    """Connect a client to `server`; closes the server at the end.

    The server sees calls of `principal`, anonymous by default, and `guard` applies to them.
    """
    client = Client(
        LocalCaller(server, principal, guard),
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
    server: Server,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    mode: str = "auto",
    principal: Principal | str | None = None,
    guard: Guard | None = None,
) -> CallResult:
    """Call one tool, in a new event loop."""

    async def run() -> CallResult:
        async with connect(server, mode=mode, principal=principal, guard=guard) as client:
            return await client.call(tool, arguments)

    return asyncio.run(run())


def read(
    server: Server,
    uri: str,
    *,
    mode: str = "auto",
    principal: Principal | str | None = None,
    guard: Guard | None = None,
) -> ReadResult:
    """Read one resource, in a new event loop."""

    async def run() -> ReadResult:
        async with connect(server, mode=mode, principal=principal, guard=guard) as client:
            return await client.read(uri)

    return asyncio.run(run())


def transcript(
    server: Server,
    messages: Iterable[str | bytes | Mapping[str, Any]],
    *,
    revision: str | None = None,
    timeout: float = 5.0,
) -> list[str]:
    """Send messages one by one and return everything that the server sent.

    Each request is answered before the next message is sent. Without a revision, messages are sent
    unchanged. With a legacy revision, the server is initialized first; with a modern one, requests
    without `_meta` get it.
    """
    known = None if revision is None else find_revision(revision)
    if revision is not None and known is None:
        raise UsageError(f"Unknown revision {revision!r}")
    return asyncio.run(_send_all(server, [_prepare(m, known) for m in messages], known, timeout))


async def _send_all(
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
            # Other responses arrive before the response to this request.
            await wire.send(b'{"jsonrpc":"2.0","id":"end-of-transcript","method":"ping"}')
    finally:
        await wire.close()
        await server.close()
    return [line.decode() for line in wire.lines[skipped:-1]]


class _Wire:
    """A connection to the server that records everything it sends."""

    def __init__(self, server: Server) -> None:
        self.lines: list[bytes] = []
        self._waiting: dict[bytes | None, asyncio.Event] = {}
        self._is_open = True
        self._connection = server.connect(self._receive)

    def _receive(self, line: bytes) -> None:
        if self._is_open:
            self.lines.append(line)
        answered = self._waiting.get(_find_request_id(line))
        if answered is not None:
            answered.set()

    async def send(self, line: bytes) -> None:
        """Send a message; wait for the response, or the acknowledgement of a listen stream."""
        message = codec.decode(line)
        if not isinstance(message, Request):
            self._connection.receive(line)
            return
        answered = self._waiting[message.id] = asyncio.Event()
        self._connection.receive(line)
        await answered.wait()

    async def close(self) -> None:
        """Close the connection; messages sent during shutdown are not recorded."""
        self._is_open = False
        await self._connection.close()


def _find_request_id(line: bytes) -> bytes | None:
    """The id of the request that a message answers or acknowledges."""
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
