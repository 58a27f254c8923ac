"""The helpers for tests of one's own server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail import Context, Server
from dovetail.auth import Guard, Principal
from dovetail.errors import RpcError, UsageError
from dovetail.testing import call, connect, read, transcript
from dovetail.wire import codec
from tests.peers.scripted import run


def make_server(events: list[str] | None = None) -> Server:
    @asynccontextmanager
    async def lifespan(_: Server) -> AsyncIterator[str]:
        if events is not None:
            events.append("start")
        yield "state"
        if events is not None:
            events.append("end")

    server = Server("mine", lifespan=lifespan)

    @server.tool
    def add(a: int, b: int = 1) -> int:
        return a + b

    @server.tool
    async def look(ctx: Context) -> str:
        return str(ctx.lifespan)

    @server.resource("memo://today")
    def today() -> str:
        return "rain"

    return server


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_a_tool_is_called_from_a_plain_test(mode: str) -> None:
    events: list[str] = []
    server = make_server(events)
    assert call(server, "add", {"a": 1}, mode=mode).text == "2"
    assert call(server, "look", mode=mode).data == "state"
    assert read(server, "memo://today", mode=mode).text == "rain"
    assert events == ["start", "end"] * 3


def test_a_client_is_connected_in_an_async_test() -> None:
    async def use() -> str:
        async with connect(make_server(), roots=[]) as client:
            return (await client.call("add", {"a": 2})).text

    assert run(use()) == "3"


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def test_raw_messages_go_out_as_they_are() -> None:
    lines = transcript(make_server(), [LIST, "{", b'{"jsonrpc":"2.0","method":"x"}'])
    answers = [codec.decode_json(line.encode()) for line in lines]
    assert len(answers) == 2
    assert answers[0]["id"] == 1
    assert answers[0]["error"]["code"] < 0
    assert answers[1]["error"]["code"] == -32700


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_with_a_revision_the_opening_is_done_and_left_out(revision: str) -> None:
    (line,) = transcript(make_server(), [LIST], revision=revision)
    assert {tool["name"] for tool in codec.decode_json(line.encode())["result"]["tools"]} == {
        "add",
        "look",
    }


def test_a_stream_stays_open_while_other_messages_follow() -> None:
    listen = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": True}},
    }
    lines = transcript(make_server(), [listen, LIST], revision="2026-07-28")
    acknowledged, listed = (codec.decode_json(line.encode()) for line in lines)
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert listed["id"] == 1


def test_a_revision_that_never_was_is_refused() -> None:
    with pytest.raises(UsageError, match="Unknown revision '1999-01-01'"):
        transcript(make_server(), [], revision="1999-01-01")


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_a_tool_is_called_by_a_principal_through_a_guard(mode: str) -> None:
    server = Server("guarded")

    @server.tool(scopes={"notes:write"})
    async def write(ctx: Context) -> str:
        return ctx.principal.id if ctx.principal else "nobody"

    @server.resource("notes://all", scopes={"notes:read"})
    def notes() -> str:
        return "none yet"

    anna = Principal("anna", ["notes:write", "notes:read"])
    assert call(server, "write", mode=mode, principal=anna).data == "anna"
    assert read(server, "notes://all", mode=mode, principal=anna).text == "none yet"
    with pytest.raises(RpcError, match="Unknown tool"):
        call(server, "write", mode=mode, principal="bert")
    with pytest.raises(RpcError, match="Unknown tool"):
        call(server, "write", mode=mode, principal=anna, guard=Guard(read_only=True))
    with pytest.raises(RpcError, match="not found"):
        read(server, "notes://all", mode=mode)
