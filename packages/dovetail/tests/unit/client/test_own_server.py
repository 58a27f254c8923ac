"""The client against our own server: in memory and over stdio, in every revision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Change, Client, ElicitRequest, ElicitResponse, SamplingRequest
from dovetail.errors import (
    InvalidParamsError,
    MissingCapabilityError,
    PeerError,
    ResourceNotFoundError,
)
from dovetail.spec.revisions import REVISIONS
from tests.patience import CAP
from tests.peers.own_server import server
from tests.peers.scripted import run

FILE = Path(__file__).parents[2] / "peers" / "own_server.py"
TARGETS = pytest.mark.parametrize("target", [server, FILE], ids=["memory", "stdio"])
MODES = pytest.mark.parametrize("mode", ["auto", *(revision.date for revision in REVISIONS)])


@TARGETS
@MODES
def test_everything_works_the_same_in_every_revision(target: Any, mode: str) -> None:
    async def use() -> None:
        progress: list[float] = []
        async with Client(target, mode=mode, timeout=CAP) as client:
            assert client.revision == (REVISIONS[-1].date if mode == "auto" else mode)
            assert client.server_info is not None
            assert client.server_info.name == "own"
            assert client.instructions == "Use add for sums."
            assert len(await client.list_tools()) == 10
            assert (await client.call("add", {"a": 1})).text == "2"
            assert (await client.call("fail", {"why": "because"})).text == "because"
            await client.call("climb", {"steps": 2}, progress=lambda p: progress.append(p.progress))
            assert progress == [1, 2]
            assert (await client.read("memo://days/monday")).text == "sun on monday"
            with pytest.raises(ResourceNotFoundError, match="memo://nowhere"):
                await client.read("memo://nowhere")
            assert (await client.get_prompt("review", {"code": "x"})).messages
            with pytest.raises(InvalidParamsError):
                await client.get_prompt("nothing")
        await server.close()

    run(use())


@TARGETS
@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_a_tool_requests_input_in_both_eras(target: Any, mode: str) -> None:
    answers = iter([{"name": "main"}, None, ElicitResponse.cancel()])

    async def elicit(request: ElicitRequest) -> Any:
        assert request.message == "Which branch?"
        return next(answers)

    def sample(request: SamplingRequest) -> str:
        return f"{request.messages[0].text} {request.max_tokens} {request.system_prompt}"

    async def use() -> list[str]:
        callbacks: dict[str, Any] = {"elicit": elicit, "sample": sample, "roots": ["/srv"]}
        async with Client(target, mode=mode, timeout=CAP, **callbacks) as client:
            said = [(await client.call("deploy")).text for _ in range(3)]
            said.append((await client.call("capital")).text)
            said.append((await client.call("folders")).text)
        await server.close()
        return said

    assert run(use()) == [
        "accept main",
        "decline",
        "cancel",
        "Capital? 5 Be brief. says dovetail",
        "file:///srv",
    ]


@TARGETS
@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_changes_are_delivered_in_both_eras(target: Any, mode: str) -> None:
    async def use() -> Change:
        async with (
            Client(target, mode=mode, timeout=CAP) as client,
            client.subscribe(tools=True, uris=["memo://today"]) as changes,
        ):
            assert changes.refused == ()
            await client.call("touch", {"uri": "memo://other"})
            await client.call("touch", {"uri": "memo://today"})
            return await anext(changes)

    assert run(use()) == Change("resource", "memo://today")


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_list_changes_reach_the_callback(mode: str) -> None:
    async def use() -> list[Change]:
        heard: list[Change] = []
        async with Client(server, mode=mode, on_change=heard.append) as client:
            server.tools.add(lambda: "new", name="new")
            try:
                assert (await client.call("new")).text == "new"
            finally:
                server.tools.remove("new")
        await server.close()
        return heard

    assert set(run(use())) == {Change("tools")}


def test_an_unknown_revision_is_rejected_by_the_server() -> None:
    async def use() -> None:
        async with Client(server, mode="modern") as client:
            meta = {"io.modelcontextprotocol/protocolVersion": "2031-01-01"}
            # The client's own words win over what a caller slips in.
            await client.request("tools/list", meta=meta)
        await server.close()

    run(use())


def test_undeclared_input_is_rejected_as_each_era_requires() -> None:
    async def use() -> bool:
        async with Client(server, mode="modern") as client:
            with pytest.raises(MissingCapabilityError):
                await client.call("folders")
        async with Client(server, mode="legacy") as client:
            is_error = (await client.call("folders")).is_error
        await server.close()
        return is_error

    assert run(use())


def test_two_clients_share_one_server() -> None:
    async def use() -> tuple[str, str]:
        async with Client(server, mode="modern") as one, Client(server, mode="legacy") as two:
            first = await one.call("add", {"a": 1})
            second = await two.call("add", {"a": 2})
        await server.close()
        return first.text, second.text

    assert run(use()) == ("2", "3")


def test_an_invalid_list_raises_peer_error() -> None:
    # The guard for the tests above: a client that took anything would prove nothing.
    class Broken:
        def connect(self, send: Any) -> Any:
            connection = server.connect(lambda line: send(line.replace(b'"tools":[', b'"t":[')))
            return connection

    async def use() -> None:
        async with Client(Broken(), mode="legacy") as client:
            await client.list_tools()

    with pytest.raises(PeerError, match="Invalid result of tools/list"):
        run(use())
