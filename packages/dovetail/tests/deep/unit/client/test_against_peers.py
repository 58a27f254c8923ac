"""The client against servers of other frameworks, over stdio, in both eras."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Change, Client, ElicitRequest
from dovetail.errors import MethodNotFoundError, MissingCapabilityError, TransportError
from tests.patience import CAP
from tests.peers.scripted import run

pytestmark = pytest.mark.slow

PEERS = Path(__file__).parents[3] / "peers"
ERAS = pytest.mark.parametrize("mode", ["modern", "2025-11-25", "2024-11-05"])


def sdk(mode: str, **options: Any) -> Client:
    return Client([sys.executable, str(PEERS / "sdk_server.py")], mode=mode, timeout=CAP, **options)


def fastmcp(mode: str, **options: Any) -> Client:
    return Client(
        [sys.executable, str(PEERS / "fastmcp_server.py")], mode=mode, timeout=CAP, **options
    )


@ERAS
def test_the_sdk_works(mode: str) -> None:
    async def use() -> None:
        progress: list[tuple[float, str | None]] = []
        logged: list[str] = []
        async with sdk(mode, on_log=lambda message: logged.append(message.data)) as client:
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.version) == ("sdk-peer", "1.2.3")
            assert client.instructions == "Use add for sums."
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert tools["add"].input_schema["required"] == ["a"]
            assert (await client.call("add", {"a": 1, "b": 2})).text == "3"
            assert (await client.call("shout", {"text": "hey"})).data == "HEY"
            assert (await client.call("fail", {"why": "x"})).is_error

            def on_progress(told: Any) -> None:
                progress.append((told.progress, told.message))

            await client.call("climb", {"steps": 2}, progress=on_progress)
            assert progress == [(1, "step 1"), (2, "step 2")]
            await client.call("remark", {"text": "hm"})
            assert "hm" in logged
            assert [prompt.name for prompt in await client.list_prompts()] == ["review"]
            prompt = await client.get_prompt("review", {"code": "x"})
            assert prompt.messages[0].role == "user"
            assert len(await client.list_resources()) == 2
            assert (await client.read("memo://today")).text == "rain"
            assert (await client.read("memo://pixel")).blobs[0].mime_type == "image/png"
            template = (await client.list_templates())[0]
            assert (await client.read("memo://days/monday")).text == "sun on monday"
            assert (await client.complete("review", "tone", "ki")).values == ["kind"]
            assert (await client.complete(template, "day", "f")).values == ["friday"]
            context = {"week": "monday"}
            assert (await client.complete(template, "day", "", context)).values == ["monday"]
            with pytest.raises(TimeoutError):
                await client.call("wait_forever", timeout=0.05)
            assert (await client.call("add", {"a": 1})).text == "2"

    run(use())


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_the_sdk_requests_input(mode: str) -> None:
    async def use() -> None:
        async def elicit(request: ElicitRequest) -> dict[str, str]:
            assert request.schema is not None
            return {next(iter(request.schema["properties"])): "main"}

        options = {"elicit": elicit, "sample": lambda _: "Paris", "roots": ["/srv"]}
        async with sdk(mode, **options) as client:
            assert (await client.call("deploy")).text == "deployed main"
            assert (await client.call("capital")).text == "Paris says dovetail"
            assert (await client.call("folders")).text == "file:///srv"

    run(use())


def test_the_sdk_does_not_request_undeclared_input() -> None:
    async def use() -> None:
        async with sdk("modern") as client:
            with pytest.raises(MissingCapabilityError):
                await client.call("deploy")

    run(use())


def test_the_sdk_sends_changes_on_listen_streams() -> None:
    async def use() -> None:
        heard: list[Change] = []
        async with sdk("auto", on_change=heard.append) as client:
            uri = "memo://today"
            async with client.subscribe(tools=True, uris=[uri]) as changes:
                assert changes.refused == ()
                await client.call("touch", {"uri": uri})
                assert await anext(changes) == Change("resource", uri)
                assert await anext(changes) == Change("tools")
            assert heard == [Change("tools")]

    run(use())


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_the_sdk_server_exits(mode: str) -> None:
    async def use() -> None:
        async with sdk(mode) as client:
            await client.call("leave", {"code": 3})

    with pytest.raises(TransportError, match=r"exited with code 3(?s:.*)going down"):
        run(use())


@ERAS
def test_fastmcp_works(mode: str) -> None:
    async def use() -> None:
        logged: list[Any] = []
        progress: list[float] = []
        async with fastmcp(mode, on_log=logged.append) as client:
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


def test_fastmcp_requests_input_in_the_legacy_era_only() -> None:
    async def use() -> tuple[str, str]:
        async def confirm(mode: str) -> str:
            async with fastmcp(mode, elicit=lambda _: {"value": "yes"}) as client:
                return (await client.call("confirm")).text

        legacy, modern = await asyncio.gather(confirm("legacy"), confirm("modern"))
        return legacy, modern

    legacy, modern = run(use())
    assert legacy == "accept yes"
    assert "unavailable on 2026-07-28" in modern


def test_a_request_that_the_revision_lacks_is_rejected_by_the_client() -> None:
    async def use() -> bool:
        async with fastmcp("2024-11-05", elicit=lambda _: {"value": "yes"}) as client:
            return (await client.call("confirm")).is_error

    assert run(use())
