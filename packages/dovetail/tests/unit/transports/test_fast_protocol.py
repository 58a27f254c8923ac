"""The short way and the usual way give the same answers, on a real uvicorn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from dovetail import Context, Server
from dovetail.transports import serve_http
from tests.patience import CAP

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SEEN: ContextVar[int] = ContextVar("SEEN", default=0)


def make_server() -> Server:
    server = Server("quick")

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def nap() -> str:
        async with asyncio.timeout(CAP):
            await asyncio.sleep(0.01)
        return "awake"

    @server.tool
    async def leap() -> str:
        async with asyncio.timeout(CAP):
            task = asyncio.current_task()
        return "in a task" if task is not None else "in none"

    @server.tool
    async def talk(ctx: Context) -> str:
        ctx.progress(1, 2)
        return "said"

    @server.tool
    async def remember() -> int:
        SEEN.set(SEEN.get() + 1)
        return SEEN.get()

    @server.tool
    async def give_up() -> str:
        raise asyncio.CancelledError

    return server


def post(
    method: str, params: dict[str, Any] | None = None, *, id: int = 1, extra: str = ""
) -> bytes:
    params = {**(params or {}), "_meta": {**META, **(params or {}).get("_meta", {})}}
    body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
    name = f"Mcp-Name: {params['name']}\r\n" if "name" in params else ""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {VERSION}\r\n"
        f"Mcp-Method: {method}\r\n{name}{extra}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def call(tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> bytes:
    return post("tools/call", {"name": tool, "arguments": arguments or {}}, **more)


class Line:
    """One connection, read response by response."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def read(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = head.strip().split("\r\n")
        headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
        if "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        else:
            body = b""
            while size := int(await self.reader.readline(), 16):
                body += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
        return int(status.split()[1]), headers, body

    async def ask(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        self.writer.write(request)
        return await self.read()

    async def text(self, request: bytes) -> str:
        _, _, body = await self.ask(request)
        text: str = json.loads(body)["result"]["content"][0]["text"]
        return text


def on_line(act: Callable[[Line], Awaitable[None]], parser: Any = "httptools") -> None:
    async def main() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_http(make_server(), port=0, parser=parser, on_ready=ready.set_result)
        )
        port = await ready
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.timeout(CAP):
                await act(Line(reader, writer))
        finally:
            writer.close()
            serving.cancel()
            await asyncio.wait([serving])

    asyncio.run(main())


@pytest.mark.parametrize("request_", [call("add", {"a": 1, "b": 2}), post("tools/list")])
def test_the_short_way_answers_as_the_usual_way(request_: bytes) -> None:
    seen: list[Any] = []

    async def ask(line: Line) -> None:
        for _ in range(2):
            status, headers, body = await line.ask(request_)
            headers.pop("date")
            seen.append((status, headers, body))

    on_line(ask)
    on_line(ask, parser="h11")
    # The first of each goes the usual way: nobody has looked at this client yet.
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert seen[0][0] == 200


def test_a_first_step_is_taken_in_a_task() -> None:
    async def ask(line: Line) -> None:
        for _ in range(3):
            assert await line.text(call("leap")) == "in a task"

    on_line(ask)


def test_a_function_that_waits_is_waited_for_in_order() -> None:
    async def ask(line: Line) -> None:
        await line.ask(post("tools/list"))
        line.writer.write(call("nap", id=7) + call("add", {"a": 1, "b": 1}, id=8))
        answers = [json.loads((await line.read())[2]) for _ in range(2)]
        assert [answer["id"] for answer in answers] == [7, 8]
        assert await line.text(call("add", {"a": 2, "b": 2})) == "4"

    on_line(ask)


def test_requests_in_one_piece_are_all_answered_in_order() -> None:
    async def ask(line: Line) -> None:
        await line.ask(post("tools/list"))
        line.writer.write(b"".join(call("add", {"a": n, "b": 0}, id=n) for n in range(20)))
        for n in range(20):
            assert json.loads((await line.read())[2])["id"] == n

    on_line(ask)


def test_a_body_in_pieces_is_put_together() -> None:
    async def ask(line: Line) -> None:
        await line.ask(post("tools/list"))
        whole = call("add", {"a": 20, "b": 22})
        for cut in (10, len(whole) - 5):
            line.writer.write(whole[:cut])
            await line.writer.drain()
            await asyncio.sleep(0.02)
            line.writer.write(whole[cut:])
            assert json.loads((await line.read())[2])["result"]["structuredContent"] == 42

    on_line(ask)


def test_a_function_that_speaks_first_gets_a_stream() -> None:
    async def ask(line: Line) -> None:
        await line.ask(post("tools/list"))
        params = {"name": "talk", "arguments": {}, "_meta": {"progressToken": "t"}}
        for _ in range(2):
            _, headers, body = await line.ask(post("tools/call", params))
            assert headers["content-type"] == "text/event-stream"
            assert b"notifications/progress" in body
            assert b'"said"' in body

    on_line(ask)


def test_no_call_sees_what_another_set_in_its_context() -> None:
    async def ask(line: Line) -> None:
        for _ in range(3):
            assert await line.text(call("remember")) == "1"

    on_line(ask)


def test_connection_close_is_kept() -> None:
    async def ask(line: Line) -> None:
        await line.ask(post("tools/list"))
        _, headers, _ = await line.ask(call("add", {"a": 1, "b": 2}, extra="Connection: close\r\n"))
        assert headers["connection"] == "close"
        assert await line.reader.read() == b""

    on_line(ask)


def test_a_header_that_says_something_else_is_refused_on_both_ways() -> None:
    async def ask(line: Line) -> None:
        right = call("add", {"a": 1, "b": 2})
        wrong = right.replace(b"Mcp-Name: add", b"Mcp-Name: sub")
        for request in (wrong, right, wrong):
            status, _, body = await line.ask(request)
            assert (status == 400) is (request is wrong)
            assert (b"-32020" in body) is (request is wrong)

    on_line(ask)


def test_a_function_that_gives_up_ends_its_own_request_alone() -> None:
    async def ask(line: Line) -> None:
        await line.ask(post("tools/list"))
        status, _, body = await line.ask(call("give_up"))
        # Told like any other failure of a function: the client is not left without an answer.
        assert (status, json.loads(body)["result"]["isError"]) == (200, True)

    on_line(ask)


@pytest.mark.parametrize("name", ["X-A", "X-A{}"])
def test_a_request_with_too_many_headers_runs_not_and_has_one_response(name: str) -> None:
    lines = "".join(f"{name.format(number)}: 1\r\n" for number in range(600))

    async def ask(line: Line) -> None:
        # From here on, such a request takes the short way.
        assert await line.text(call("remember")) == "1"
        line.writer.write(call("remember", extra=lines))
        received = await line.reader.read()
        assert received.startswith(b"HTTP/1.1 400 ")
        assert received.count(b"HTTP/1.1 ") == 1

    on_line(ask)
