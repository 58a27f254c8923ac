"""`dovetail run FILE --reload` on stdio: the client keeps its connection."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from mcp import ClientSession

from dovetail.client import Change, Client
from tests.driving import use_over_stdio
from tests.patience import CAP, wait_until

SERVER = """
import asyncio
import os
from pathlib import Path

from dovetail import Context, Options, Server

server = Server("counter", options=Options(grace={grace}))


@server.tool
async def version() -> str:
    return "{version}"


@server.tool
async def touch(ctx: Context) -> None:
    ctx.log.debug("touched")
    ctx.resource_updated("counter://now")


@server.tool
async def slow() -> str:
    while not Path(__file__).with_name("go").exists():
        await asyncio.sleep(0.01)
    return "{version}"


@server.tool
async def crash() -> None:
    os._exit(3)


@server.resource("counter://now")
def now() -> str:
    return "1"
"""


def write(file: Path, version: str, grace: float = 3600.0) -> None:
    file.write_text(SERVER.format(version=version, grace=grace), "utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "counter.py"
    write(path, "one")
    return path


def command(file: Path) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", str(file), "--reload"]


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
def test_the_client_stays_connected_and_subscribed(file: Path, mode: str) -> None:
    logged: list[Any] = []

    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            Client(command(file), mode=mode, timeout=CAP, on_log=logged.append) as client,
            client.subscribe(tools=True, uris=["counter://now"]) as changes,
        ):
            if mode == "2025-11-25":
                await client.set_log_level("debug")
            assert (await client.call("version")).text == "one"
            write(file, "second")
            assert await anext(aiter(changes)) == Change("tools")
            assert (await client.call("version")).text == "second"
            await client.call("touch")
            assert await anext(aiter(changes)) == Change("resource", "counter://now")

    asyncio.run(run())
    assert len(logged) == (1 if mode == "2025-11-25" else 0)


def test_the_official_client_stays_connected(file: Path) -> None:
    async def use(session: ClientSession) -> None:
        await session.initialize()
        texts = set()
        write(file, "second")
        while "second" not in texts:
            result = await session.call_tool("version", {})
            texts.add(result.content[0].text)  # type: ignore[union-attr]
        assert texts <= {"one", "second"}

    use_over_stdio(command(file), use)


class Running:
    """A server with --reload, line by line."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log
        self._last_id = 0

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def send(self, tool: str) -> int:
        self._last_id += 1
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": tool, "arguments": {}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": "tools/call", "params": params}
        stdin = self._pipe(self.process.stdin)
        stdin.write(json.dumps(message) + "\n")
        stdin.flush()
        return self._last_id

    def read(self) -> tuple[int, str]:
        """The id and the text of the next response; the message of an error."""
        message = json.loads(self._pipe(self.process.stdout).readline())
        if "error" in message:
            return message["id"], message["error"]["message"]
        return message["id"], message["result"]["content"][0]["text"]

    def call(self, tool: str) -> str:
        id = self.send(tool)
        answered, text = self.read()
        assert answered == id
        return text

    @property
    def said(self) -> str:
        return self._log.read_text("utf-8")

    def wait_for(self, text: str, count: int = 1) -> None:
        wait_until(lambda: self.said.count(text) >= count)


@contextmanager
def running(file: Path) -> Iterator[Running]:
    log = file.with_name("said.txt")
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            command(file),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        try:
            yield Running(process, log)
        finally:
            if process.poll() is None:
                process.kill()


def test_the_old_version_goes_on_while_the_file_is_broken(file: Path) -> None:
    with running(file) as server:
        assert server.call("version") == "one"
        file.write_text("def broken(:\n", "utf-8")
        server.wait_for("could not be loaded; the previous version goes on")
        assert "SyntaxError" in server.said
        assert server.call("version") == "one"
        # A server that exits is gone: its calls and later ones are answered with an error.
        assert "ended before it answered" in server.call("crash")
        server.wait_for("The server has exited; it restarts when a file changes")
        assert "The server is not running; its log says why" in server.call("version")
        write(file, "repaired")
        server.wait_for("changed; reloading", 2)
        wait_until(lambda: server.call("version") == "repaired")
        assert server.process.stdin is not None
        server.process.stdin.close()
        assert server.process.wait(CAP) == 0


def test_a_file_that_is_broken_from_the_start_is_reported(file: Path) -> None:
    file.write_text("1 / 0\n", "utf-8")
    with running(file) as server:
        assert "The server is not running" in server.call("version")
        assert "ZeroDivisionError" in server.said
        write(file, "repaired")
        wait_until(lambda: server.call("version") == "repaired")
        server.process.terminate()
        assert server.process.wait(CAP) == 0


def test_calls_in_flight_finish_and_new_ones_wait(file: Path) -> None:
    with running(file) as server:
        assert server.call("version") == "one"
        slow = server.send("slow")
        write(file, "second", grace=0.0)
        server.wait_for("changed; reloading")
        # The old version answers until the new one is loaded; then requests wait for it.
        late = server.send("version")
        file.with_name("go").touch()
        texts = dict(server.read() for _ in range(2))
        assert texts[slow] == "one"
        assert texts[late] in ("one", "second")
        file.with_name("go").unlink()
        wait_until(lambda: server.call("version") == "second")
        # Without a grace period a call in flight gets an error.
        slow = server.send("slow")
        write(file, "the third")
        answered, text = server.read()
        assert answered == slow
        # Of the server, or of its parent if the server ended before it could answer.
        assert "shutting down" in text or "ended before it answered" in text
        assert server.call("version") == "the third"
        server.process.terminate()
        assert server.process.wait(CAP) == 0


def test_a_missing_file_sets_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run(
        command(tmp_path / "none.py"), capture_output=True, text=True, timeout=CAP, check=False
    )
    assert done.returncode == 2
    assert "There is no file" in done.stderr
