"""`Proxy`: its options, its name, its capabilities."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Client, Proxy, Server, UsageError
from dovetail.errors import ToolError
from dovetail.spec.keys import TASKS
from tests.peers.scripted import DISCOVERED, INITIALIZED, ScriptedServer, run
from tests.unit.fakes import make_call

TOOL = {"name": "t", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("https://shop.example/mcp", "shop.example"),
        (["/usr/bin/shop", "--fast"], "shop"),
        ("shop --fast", "shop"),
        ({"command": "/usr/bin/shop"}, "shop"),
        ({"url": "http://shop.example:8000/mcp"}, "shop.example"),
        (Server("shop"), "shop"),
    ],
)
def test_the_name_comes_from_the_target(target: Any, name: str) -> None:
    assert Proxy(target).name == name
    assert Proxy(target, name="front").name == "front"


def test_wrong_options_fail_at_once() -> None:
    wrong: list[tuple[Any, dict[str, Any]]] = [
        ({"nothing": 1}, {}),
        (["shop"], {"headers": {"A": "b"}}),
        ("https://shop.example", {"auth": "secret"}),
        ("https://shop.example", {"mode": "1999"}),
    ]
    for target, options in wrong:
        with pytest.raises(UsageError):
            Proxy(target, **options)


def test_a_proxy_has_no_handlers_of_its_own() -> None:
    with pytest.raises(UsageError, match="is a proxy"):

        @Proxy("https://shop.example/mcp").tool
        def add(a: int) -> int:
            return a


def capabilities_with(script: dict[str, Any], mode: str, caller: str = "modern") -> dict[str, Any]:
    async def scenario() -> dict[str, Any]:
        proxy = Proxy(ScriptedServer({"logging/setLevel": {}, **script}), mode=mode)
        async with Client(proxy, mode=caller) as client:
            found = dict(client.capabilities)
        await proxy.close()
        return found

    found: dict[str, Any] = run(scenario())
    return found


def test_capabilities_are_those_of_the_upstream() -> None:
    offered: dict[str, Any] = {
        "tools": {},
        "experimental": {"x": {}},
        "extensions": {TASKS: {}, "com.x": {}},
    }
    discovered = {"server/discover": {**DISCOVERED, "capabilities": offered}}
    found = capabilities_with(discovered, "modern")
    # The proxy itself announces changes of lists.
    tools = {"listChanged": True}
    assert found == {"tools": tools, "experimental": {"x": {}}, "extensions": {TASKS: {}}}
    found = capabilities_with(discovered, "modern", "legacy")
    # Tasks are for callers of the same era.
    assert "tasks" not in found and "extensions" not in found


def test_the_oldest_revision_has_completion_without_a_capability() -> None:
    oldest = {**INITIALIZED, "protocolVersion": "2024-11-05", "capabilities": {"prompts": {}}}
    assert capabilities_with({"initialize": oldest}, "legacy") == {
        "prompts": {"listChanged": True},
        "completions": {},
    }


def test_a_mount_gets_all_pages_and_ends_an_endless_list() -> None:
    async def scenario() -> None:
        def page(message: dict[str, Any]) -> dict[str, Any]:
            more = {} if message["params"].get("cursor") == "2" else {"nextCursor": "2"}
            name = message["params"].get("cursor", "1")
            return {"resultType": "complete", "tools": [{**TOOL, "name": name}], **more}

        def endless(message: dict[str, Any]) -> dict[str, Any]:
            cursor = str(int(message["params"].get("cursor", 0)) + 1)
            return {"resultType": "complete", "tools": [], "nextCursor": cursor}

        server = ScriptedServer({"server/discover": DISCOVERED, "tools/list": page})
        outer = Server("outer")
        outer.mount(Proxy(server, name="shop"), "shop")
        async with Client(outer) as client:
            assert [each.name for each in await client.list_tools()] == ["shop_1", "shop_2"]
            server.script = {**server.script, "tools/list": endless}
            listed = await client.request("tools/list", {})
            reason = listed["_meta"]["dev.dovetail/unavailable"]["shop"]
            assert reason == "has a list without end"
        await outer.close()

    run(scenario())


def test_resources_can_be_read_for_other_handlers() -> None:
    async def scenario() -> None:
        contents = {"contents": [{"uri": "a://b", "text": "t"}]}
        server = ScriptedServer({"server/discover": DISCOVERED, "resources/read": contents})
        proxy = Proxy(server, name="shop")
        call = make_call("resources/read", b'{"uri":"a://b"}')
        [read] = await proxy.provider.read_resource(call, "a://b")
        assert read.uri == "a://b"
        server.script = {**server.script, "resources/read": {"contents": [{"uri": "a://b"}]}}
        with pytest.raises(ToolError, match="neither text nor blob"):
            await proxy.provider.read_resource(call, "a://b")
        await proxy.close()

    run(scenario())


def test_headers_of_tools_are_learned_from_the_list() -> None:
    async def scenario() -> None:
        schema = {
            "type": "object",
            "properties": {"city": {"type": "string", "x-mcp-header": "City"}},
        }
        tools = {"resultType": "complete", "tools": [{"name": "t", "inputSchema": schema}]}
        proxy = Proxy(ScriptedServer({"server/discover": DISCOVERED, "tools/list": tools}))
        async with Client(proxy) as client:
            assert proxy.provider.header_params("t", make_call()) == ()
            await client.list_tools()
            assert proxy.provider.header_params("t", make_call()) == ((("city",), "City"),)
        await proxy.close()

    run(scenario())
