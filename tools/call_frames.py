"""Prints how many frames of dovetail one warm `tools/call` takes, by the way that it comes in.

usage: python -m tools.call_frames

A frame is a function of the framework that begins or goes on; what libraries do is not counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from types import FrameType
from typing import Any

import dovetail
import dovetail_gateway
from dovetail import Proxy, Server
from dovetail.middleware import CallNext, Request

SOURCES = tuple(package.__path__[0] for package in (dovetail, dovetail_gateway))
MODERN, LEGACY = "2026-07-28", "2025-11-25"
_META = "io.modelcontextprotocol/"

_CLIENT = {"name": "frames", "version": "1"}
_PARAMS = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
_HELLO = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _PARAMS}
HELLO = json.dumps(_HELLO).encode()
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

Send = Callable[[bytes], Awaitable[Any]]


class FrameCounter:
    """Counts frames, files and changes of the file while it is entered."""

    def __init__(self) -> None:
        self.files: list[str] = []

    def __enter__(self) -> FrameCounter:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCES):
            self.files.append(frame.f_code.co_filename)

    def row(self) -> str:
        """Frames, files and changes of the file, as columns."""
        changes = sum(one != next_ for one, next_ in zip(self.files, self.files[1:], strict=False))
        return f"{len(self.files):7}{len(set(self.files)):7}{changes:9}"


async def _nothing(request: Request[Any], call_next: CallNext[Any]) -> Any:
    return await call_next(request)


def make_server(*, middleware: Sequence[Any] = ()) -> Server:
    """A server with the tool that is called."""
    server = Server("frames", middleware=middleware)

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


def request(name: str = "add", *, modern: bool = True) -> bytes:
    """A call of the tool."""
    meta = {
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientInfo": _CLIENT,
        f"{_META}clientCapabilities": {},
    }
    params = {"name": name, "arguments": {"a": 1, "b": 2}, **({"_meta": meta} if modern else {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


async def through_handle(server: Server, name: str = "add") -> Send:
    """`server.handle`."""

    async def send(_: bytes) -> None:
        await server.handle(request(name))

    return send


async def through_connection(server: Server) -> Send:
    """A connection of the legacy era, as stdio has it."""
    connection = server.connect(lambda _: None)
    hello = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "", "version": ""},
    }
    connection.receive(
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode()
    )
    await asyncio.sleep(0)
    connection.receive(READY)

    async def send(_: bytes) -> None:
        connection.receive(request(modern=False))

    return send


async def post(app: Any, body: bytes, *headers: tuple[bytes, bytes]) -> dict[bytes, bytes]:
    """One POST to an ASGI application; the headers of the response."""
    scope = {
        "type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"",
        "root_path": "", "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80), "asgi": {"version": "3.0"},
        "headers": [
            (b"host", b"127.0.0.1"), (b"content-type", b"application/json"),
            (b"accept", b"application/json, text/event-stream"), *headers,
        ],
    }  # fmt: skip
    found: dict[bytes, bytes] = {}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            assert message["status"] in (200, 202), message
            found.update(message["headers"])

    await app(scope, receive, send)
    return found


async def through_http(server: Server, *, modern: bool) -> Send:
    """The ASGI application."""
    app = server.http_app()
    if modern:
        headers = [
            (b"mcp-protocol-version", MODERN.encode()),
            (b"mcp-method", b"tools/call"),
            (b"mcp-name", b"add"),
        ]
    else:
        found = await post(app, HELLO)
        headers = [
            (b"mcp-protocol-version", LEGACY.encode()),
            (b"mcp-session-id", found[b"mcp-session-id"]),
        ]
        await post(app, READY, *headers)

    async def send(_: bytes) -> None:
        await post(app, request(modern=modern), *headers)

    return send


async def main() -> None:
    """Print a row for each way."""
    outer = Server("outer")
    outer.mount(make_server(), "inner")
    proxy = Server("proxy")
    proxy.mount(Proxy(make_server(), name="inner"), "inner")
    ways: dict[str, Send] = {
        "server.handle": await through_handle(make_server()),
        "with a middleware that does nothing": await through_handle(
            make_server(middleware=(_nothing,))
        ),
        "connection (stdio), legacy": await through_connection(make_server()),
        "HTTP (ASGI), modern": await through_http(make_server(), modern=True),
        "HTTP (ASGI), legacy": await through_http(make_server(), modern=False),
        "mount": await through_handle(outer, "inner_add"),
        "proxy": await through_handle(proxy, "inner_add"),
    }
    print(f"{'':36}{'frames':>7}{'files':>7}{'changes':>9}")
    for name, send in ways.items():
        for _ in range(3):
            await send(b"")
            await asyncio.sleep(0.01)
        with FrameCounter() as counter:
            await send(b"")
            await asyncio.sleep(0.01)
        print(f"{name:36}{counter.row()}")


if __name__ == "__main__":
    asyncio.run(main())
