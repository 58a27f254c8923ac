"""A server over HTTP is killed and comes back: what waits fails at once, later requests work."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.client import Change, Client, http_session
from dovetail.errors import TransportError
from tests.patience import CAP
from tests.peers.scripted import run

SERVER = """
import asyncio, socket, sys
from dovetail import Context, Server
from dovetail.transports import serve_http

server = Server("memos")

@server.tool
async def wait(ctx: Context) -> None:
    await ctx.progress(1)
    await asyncio.Event().wait()

@server.tool
def add() -> str:
    server.tools.add(lambda: "", name="more", description="More.")
    return "added"

listener = socket.socket(fileno=int(sys.argv[1]))
asyncio.run(serve_http(server, listener=listener, old_sse="/sse"))
"""

MODES = [("legacy", "/mcp"), ("legacy", "/sse"), ("modern", "/mcp")]


class Memos:
    """A server process that can be killed and started again at the same port."""

    def __init__(self, script: Path) -> None:
        self._script = script
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def start(self) -> None:
        # The socket is inherited, so that a client can connect before the server is ready.
        with socket.create_server(("127.0.0.1", self.port)) as listener:
            self.port = listener.getsockname()[1]
            self._process = subprocess.Popen(
                [sys.executable, str(self._script), str(listener.fileno())],
                pass_fds=[listener.fileno()],
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def memos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memos]:
    # What waits for another attempt would never end.
    monkeypatch.setattr(http_session, "_RETRY_MS", 10**9)
    (tmp_path / "memos.py").write_text(SERVER)
    server = Memos(tmp_path / "memos.py")
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize(("mode", "path"), MODES)
def test_a_client_works_again_after_an_outage(memos: Memos, mode: str, path: str) -> None:
    async def use() -> None:
        url = f"http://127.0.0.1:{memos.port}{path}"
        async with Client(url, mode=mode, timeout=CAP) as client:
            async with client.subscribe(tools=True) as changes:
                assert (await client.call("add")).text == "added"
                assert await anext(changes) == Change("tools")
                memos.kill()
                with pytest.raises(TransportError):
                    await anext(changes)
            with pytest.raises(TransportError):
                await client.call("add")
            memos.start()
            async with client.subscribe(tools=True) as changes:
                assert (await client.call("add")).text == "added"
                assert await anext(changes) == Change("tools")

    run(use())


@pytest.mark.parametrize(("mode", "path"), MODES)
def test_a_call_fails_at_once_when_its_server_is_killed(memos: Memos, mode: str, path: str) -> None:
    async def use() -> None:
        url = f"http://127.0.0.1:{memos.port}{path}"
        async with Client(url, mode=mode, timeout=CAP) as client:
            running = asyncio.Event()
            call = client.call("wait", progress=lambda _: running.set(), timeout=float("inf"))
            waiting = asyncio.ensure_future(call)
            await running.wait()
            memos.kill()
            with pytest.raises(TransportError):
                await waiting

    run(use())
