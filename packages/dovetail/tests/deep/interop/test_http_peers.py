"""The client against servers that other people's frameworks run, over HTTP, in both eras.

The listening socket is made here and inherited: a client may connect at once, and waits in the
queue until the server is there.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Change, Client, ElicitRequest
from dovetail.errors import MethodNotFoundError, MissingCapabilityError
from tests.patience import CAP
from tests.peers.scripted import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[5]
ERAS = pytest.mark.parametrize("mode", ["modern", "2025-11-25", "2025-03-26"])

_RUN = """
import socket, sys, uvicorn
from tests.peers.{module} import server
listener = socket.socket(fileno=int(sys.argv[1]))
config = uvicorn.Config(
    server.{app}, loop="asyncio", log_level="error", timeout_graceful_shutdown=1
)
uvicorn.Server(config).run(sockets=[listener])
"""


@contextlib.contextmanager
def serving(module: str, app: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        fd = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN.format(module=module, app=app), str(fd)],
            cwd=ROOT,
            pass_fds=[fd],
            stderr=subprocess.DEVNULL,
        )
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        try:
            process.wait(CAP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(CAP)


@pytest.fixture(scope="module")
def sdk() -> Iterator[str]:
    with serving("sdk_server", "streamable_http_app()") as url:
        yield url


@pytest.fixture(scope="module")
def fastmcp() -> Iterator[str]:
    with serving("fastmcp_server", "http_app(path='/mcp')") as url:
        yield url


@pytest.fixture(scope="module")
def stateless() -> Iterator[str]:
    with serving("sdk_server", "streamable_http_app(stateless_http=True, json_response=True)") as u:
        yield u


@ERAS
def test_the_sdk_is_read_and_called(sdk: str, mode: str) -> None:
    async def use() -> None:
        progress: list[tuple[float, str | None]] = []
        logged: list[str] = []

        def on_progress(told: Any) -> None:
            progress.append((told.progress, told.message))

        def on_log(told: Any) -> None:
            logged.append(told.data)

        async with Client(sdk, timeout=CAP, mode=mode, on_log=on_log) as client:
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.version) == ("sdk-peer", "1.2.3")
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert tools["add"].input_schema["required"] == ["a"]
            assert (await client.call("add", {"a": 1, "b": 2})).text == "3"
            assert (await client.call("fail", {"why": "x"})).is_error
            await client.call("climb", {"steps": 2}, progress=on_progress)
            assert progress == [(1, "step 1"), (2, "step 2")]
            await client.call("remark", {"text": "hm"})
            assert "hm" in logged
            prompt = await client.get_prompt("review", {"code": "x"})
            assert prompt.messages[0].role == "user"
            assert (await client.read("memo://today")).text == "rain"
            assert (await client.read("memo://pixel")).blobs[0].mime_type == "image/png"
            assert (await client.complete("review", "tone", "ki")).values == ["kind"]
            with pytest.raises(TimeoutError):
                await client.call("wait_forever", timeout=0.05)
            assert (await client.call("add", {"a": 1})).text == "2"

    run(use())


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_the_sdk_asks_back(sdk: str, mode: str) -> None:
    async def use() -> None:
        async def elicit(request: ElicitRequest) -> dict[str, str]:
            assert request.schema is not None
            return {next(iter(request.schema["properties"])): "main"}

        options: dict[str, Any] = {
            "elicit": elicit,
            "sample": lambda _: "Paris",
            "roots": ["/srv"],
        }
        async with Client(sdk, timeout=CAP, mode=mode, **options) as client:
            assert (await client.call("deploy")).text == "deployed main"
            assert (await client.call("capital")).text == "Paris says dovetail"
            assert (await client.call("folders")).text == "file:///srv"

    run(use())


def test_the_sdk_refuses_to_ask_what_was_not_declared(sdk: str) -> None:
    async def use() -> None:
        async with Client(sdk, timeout=CAP, mode="modern") as client:
            with pytest.raises(MissingCapabilityError):
                await client.call("deploy")

    run(use())


def test_the_sdk_tells_of_changes_on_listen_streams(sdk: str) -> None:
    async def use() -> None:
        heard: list[Change] = []
        async with Client(sdk, timeout=CAP, on_change=heard.append) as client:
            uri = "memo://today"
            async with client.subscribe(tools=True, uris=[uri]) as changes:
                assert changes.refused == ()
                await client.call("touch", {"uri": uri})
                assert await anext(changes) == Change("resource", uri)
                assert await anext(changes) == Change("tools")

    run(use())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdk_without_sessions(stateless: str, mode: str) -> None:
    async def use() -> str:
        async with Client(stateless, timeout=CAP, mode=mode) as client:
            await client.list_tools()
            return (await client.call("add", {"a": 1})).text

    assert run(use()) == "2"


@ERAS
def test_fastmcp_is_read_and_called(fastmcp: str, mode: str) -> None:
    async def use() -> None:
        logged: list[Any] = []
        progress: list[float] = []
        async with Client(fastmcp, timeout=CAP, mode=mode, on_log=logged.append) as client:
            assert len((await client.list_tools_page()).items) == 2
            assert len(await client.list_tools()) == 5
            profile = await client.call("profile", {"name": "Ann", "tags": ["a"]})
            assert profile.data == {"name": "Ann", "tags": ["a"]}
            climb = await client.call(
                "climb", {"steps": 2}, progress=lambda told: progress.append(told.progress)
            )
            assert climb.text == "top"
            assert progress == [1, 2]
            await client.call("remark", {"text": "hm"})
            assert [message.level for message in logged] == ["warning"]
            assert (await client.read("memo://days/monday")).text == "sun on monday"
            assert (await client.get_prompt("review", {"code": "x"})).messages
            with pytest.raises(MethodNotFoundError):
                await client.complete("review", "code", "x")

    run(use())


def test_fastmcp_asks_back_in_the_legacy_era(fastmcp: str) -> None:
    async def use() -> str:
        async with Client(
            fastmcp, timeout=CAP, mode="legacy", elicit=lambda _: {"value": "yes"}
        ) as client:
            return (await client.call("confirm")).text

    assert run(use()) == "accept yes"
