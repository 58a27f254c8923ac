"""An HTTP server with scripted responses, on the test's event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from dovetail.wire import codec
from dovetail.wire.framing import encode_sse
from tests.peers.scripted import DISCOVERED, INITIALIZED


class Heard(NamedTuple):
    """One request as it arrived."""

    verb: str
    target: str
    headers: dict[str, str]
    message: dict[str, Any]

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))


class Wire:
    """The connection that a request came on."""

    def __init__(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        self._writer = writer
        self._reader = reader

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def respond(
        self, status: int, body: bytes = b"", kind: str = "application/json", **headers: str
    ) -> None:
        extra = "".join(f"{name.replace('_', '-')}: {text}\r\n" for name, text in headers.items())
        content = f"Content-Type: {kind}\r\n" if kind else ""
        head = f"HTTP/1.1 {status} X\r\n{content}{extra}Content-Length: {len(body)}\r\n\r\n"
        await self.raw(head.encode() + body)

    async def result(self, heard: Heard, result: dict[str, Any], **headers: str) -> None:
        await self.respond(200, answer(heard, result), **headers)

    async def error(self, heard: Heard, status: int, code: int, **more: Any) -> None:
        error = {"code": code, "message": "no", **more}
        message = {"jsonrpc": "2.0", "id": heard.message.get("id"), "error": error}
        await self.respond(status, codec.encode(message))

    async def start_events(self) -> None:
        await self.raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )

    async def event(self, data: bytes, **fields: Any) -> None:
        chunk = encode_sse(data, **fields)
        await self.raw(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    async def end_events(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self._writer.close()

    async def gone(self) -> None:
        """Wait until the client closes the connection."""
        while await self._reader.read(1000):
            pass


def answer(heard: Heard, result: dict[str, Any]) -> bytes:
    return codec.encode({"jsonrpc": "2.0", "id": heard.message["id"], "result": result})


Serve = Callable[[Heard, Wire], Awaitable[None]]


class FakeHttp:
    def __init__(self, url: str, heard: list[Heard]) -> None:
        self.url = url
        self.heard = heard
        self.connections = 0

    def methods(self) -> list[str]:
        return [one.method or one.verb for one in self.heard]


@asynccontextmanager
async def fake_http(serve: Serve, context: ssl.SSLContext | None = None) -> AsyncIterator[FakeHttp]:
    heard: list[Heard] = []
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        fake.connections += 1
        wire = Wire(writer, reader)
        try:
            while (request := await _read(reader)) is not None and not writer.is_closing():
                heard.append(request)
                await serve(request, wire)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            tasks.discard(task)

    listener = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    port = listener.sockets[0].getsockname()[1]
    fake = FakeHttp(f"http{'' if context is None else 's'}://127.0.0.1:{port}/mcp", heard)
    try:
        yield fake
    finally:
        listener.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Heard | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    verb, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Heard(verb, target, headers, codec.decode_json(body) if body else {})


def modern(methods: dict[str, Serve]) -> Serve:
    """A modern server that discovers by itself."""

    async def serve(heard: Heard, wire: Wire) -> None:
        if heard.method in methods:
            await methods[heard.method](heard, wire)
        elif heard.method == "server/discover":
            await wire.result(heard, DISCOVERED)
        else:
            await wire.error(heard, 404, -32601)

    return serve


def legacy(methods: dict[str, Serve], session: str = "s1") -> Serve:
    """A legacy server that shakes hands by itself; verbs may be scripted like methods."""

    async def serve(heard: Heard, wire: Wire) -> None:
        key = heard.method if heard.verb == "POST" else heard.verb
        if key in methods:
            await methods[key](heard, wire)
        elif heard.method == "initialize":
            await wire.result(heard, INITIALIZED, Mcp_Session_Id=session)
        elif heard.verb == "POST" and not ("id" in heard.message and heard.method):
            await wire.respond(202, kind="")
        elif heard.verb in ("GET", "DELETE"):
            await wire.respond(405, kind="")
        else:
            await wire.respond(400, b"Bad Request: no session", "text/plain")

    return serve
