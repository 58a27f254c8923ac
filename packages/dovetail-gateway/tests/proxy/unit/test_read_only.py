"""A read-only guard in front of a proxy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from dovetail import Proxy, Server, ToolAnnotations
from dovetail.auth import Guard
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import InvalidParamsError, PeerError
from dovetail.testing import connect
from dovetail.wire import codec
from dovetail_gateway.proxy import ReadOnlyTools
from tests.peers.scripted import run


def make_notes() -> tuple[Server, list[str]]:
    server, written = Server("notes"), list[str]()

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def look() -> str:
        return "seen"

    @server.tool
    def write() -> str:
        written.append("write")
        return "written"

    @server.tool(annotations=ToolAnnotations(read_only_hint=False))
    def erase() -> str:
        written.append("erase")
        return "erased"

    return server, written


def make_proxy(upstream: Server, *, mounted: bool) -> tuple[Server, str]:
    proxy = Proxy(upstream, name="notes")
    if not mounted:
        return proxy, ""
    outer = Server("outer")
    outer.mount(proxy, "notes")
    return outer, "notes_"


@pytest.mark.parametrize("mounted", [False, True])
@pytest.mark.parametrize("mode", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_only_tools_that_are_annotated_can_be_seen_and_called(mode: str, mounted: bool) -> None:
    async def scenario() -> None:
        upstream, written = make_notes()
        server, prefix = make_proxy(upstream, mounted=mounted)
        guard = Guard(read_only=True)
        async with connect(server, mode=mode, guard=guard) as client:
            # Nothing has been listed yet.
            for name in ("write", "erase", "nothing"):
                with pytest.raises(InvalidParamsError, match="Unknown tool"):
                    await client.call(f"{prefix}{name}")
            assert [tool.name for tool in await client.list_tools()] == [f"{prefix}look"]
            assert (await client.call(f"{prefix}look")).text == "seen"
        assert written == []
        await server.close()

    run(scenario())


def test_without_such_a_guard_everything_is_offered() -> None:
    async def scenario() -> None:
        upstream, written = make_notes()
        proxy, _ = make_proxy(upstream, mounted=False)
        async with connect(proxy, guard=Guard()) as client:
            assert len(await client.list_tools()) == 3
            await client.call("write")
        assert written == ["write"]
        await proxy.close()

    run(scenario())


TOOLS = {
    "tools": [{"name": "a", "annotations": {"readOnlyHint": True}}, {"name": "b"}],
    "nextCursor": "2",
}
REST = {"tools": [{"name": "c", "annotations": {"readOnlyHint": True}}]}


class Lists:
    """An upstream with two pages of tools."""

    def __init__(self) -> None:
        self.asked = 0

    async def forward(self, call: Any, method: str, params: dict[str, Any]) -> Any:
        self.asked += 1
        assert method == "tools/list"
        return SimpleNamespace(raw=Raw(codec.encode(REST if "cursor" in params else TOOLS)))


def test_all_pages_are_read_once_until_the_list_changes() -> None:
    async def scenario() -> None:
        lists = Lists()
        tools = ReadOnlyTools(lists)  # type: ignore[arg-type]
        call: Any = None
        assert [await tools.have(call, name) for name in "cab"] == [True, True, False]
        assert lists.asked == 2
        tools.changed(ChangeEvent(ChangeKind.PROMPTS))
        assert await tools.have(call, "a")
        assert lists.asked == 2
        tools.changed(ChangeEvent(ChangeKind.TOOLS))
        assert await tools.have(call, "a")
        assert lists.asked == 3

    run(scenario())


@pytest.mark.parametrize("tools", [5, [{"annotations": {}}], [{"name": "x", "annotations": 1}]])
def test_a_list_that_makes_no_sense_is_an_error(tools: Any) -> None:
    with pytest.raises(PeerError, match="tools/list is invalid"):
        ReadOnlyTools(Lists()).filter(Raw(codec.encode({"tools": tools})))  # type: ignore[arg-type]
