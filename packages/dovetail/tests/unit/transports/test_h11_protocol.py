"""A connection whose request head stays incomplete is closed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail import Server
from dovetail.transports import http_server
from dovetail.transports.http_server import bind, serve_app
from tests.http_corpus.cases import call_body, make_request
from tests.patience import CAP

REQUEST = make_request(call_body("count", b"x"))
HEAD = REQUEST[: REQUEST.index(b"\r\n\r\n")]


@asynccontextmanager
async def connected(
    finish: asyncio.Event,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server with a keep-alive timeout of 0.2 seconds."""
    server = Server("waiting")

    @server.tool
    async def count(key: str) -> str:
        await finish.wait()
        return key

    ready = asyncio.Event()
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    app = server.http_app()
    serving = asyncio.create_task(
        serve_app(app, [server], listener, parser="h11", on_ready=lambda _: ready.set())
    )
    await ready.wait()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(CAP):
            yield reader, writer
    finally:
        writer.close()
        serving.cancel()
        await asyncio.wait([serving])


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_KEEP_ALIVE", 0.2)


@pytest.mark.parametrize("sent", [b"", b"POST", HEAD])
def test_an_unfinished_head_is_not_waited_for(sent: bytes) -> None:
    async def play() -> None:
        async with connected(asyncio.Event()) as (reader, writer):
            writer.write(sent)
            assert await reader.read() == b""

    asyncio.run(play())


def test_bytes_that_trickle_in_do_not_extend_the_time() -> None:
    async def play() -> None:
        async with connected(asyncio.Event()) as (reader, writer):
            closed = asyncio.ensure_future(reader.read())
            while not closed.done():
                writer.write(b"P")
                await asyncio.wait([closed], timeout=0.05)

    asyncio.run(play())


def test_a_request_may_take_longer_and_the_connection_is_used_again() -> None:
    async def play() -> None:
        finish = asyncio.Event()
        async with connected(finish) as (reader, writer):
            for _ in range(2):
                finish.clear()
                writer.write(REQUEST)
                await asyncio.sleep(0.4)
                finish.set()
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.split()[1] == b"200"
                length = re.search(rb"content-length: (\d+)", head)
                assert length is not None
                await reader.readexactly(int(length[1]))

    asyncio.run(play())
