"""HTTP+SSE of 2024-11-05, driven by the official client of that transport."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest
import uvicorn
from mcp import ClientSession
from mcp.client.sse import sse_client

from dovetail import Context, Server
from tests.patience import CAP

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = Server("old")

    @server.tool
    async def add(a: int, b: int, ctx: Context) -> int:
        await ctx.progress(1, 2)
        return a + b

    listener = socket.create_server(("127.0.0.1", 0))
    app = server.http_app(old_sse="/sse")
    runner = uvicorn.Server(uvicorn.Config(app, ws="none", log_level="error", lifespan="on"))
    thread = threading.Thread(target=runner.run, args=([listener],))
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    app.close()
    runner.should_exit = True
    thread.join(CAP)
    listener.close()


def test_a_client_of_the_old_transport_is_served(address: str) -> None:
    async def scenario() -> None:
        seen: list[float] = []

        async def heard(progress: float, total: float | None, message: str | None) -> None:
            seen.append(progress)

        async with (
            asyncio.timeout(CAP),
            sse_client(f"{address}/sse") as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            greeting = await session.initialize()
            assert greeting.server_info.name == "old"
            result = await session.call_tool("add", {"a": 1, "b": 2}, progress_callback=heard)
            assert result.structured_content == {"result": 3}
            assert seen == [1]

    asyncio.run(scenario())


def test_a_message_to_no_stream_is_refused(address: str) -> None:
    answer = httpx.post(f"{address}/sse/messages?session_id=nobody", json={}, timeout=CAP)
    assert answer.status_code == 404
    assert "no such stream" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/sse"), ("GET", "/sse/messages")])
def test_each_url_takes_one_method(address: str, method: str, path: str) -> None:
    assert httpx.request(method, f"{address}{path}", timeout=CAP).status_code == 405


def test_it_is_off_unless_asked_for() -> None:
    async def scenario() -> int:
        transport = httpx.ASGITransport(Server("s").http_app())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get("/sse")).status_code

    assert asyncio.run(scenario()) == 404
