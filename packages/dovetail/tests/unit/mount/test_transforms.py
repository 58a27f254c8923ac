"""Filters and transforms of mounts: names, descriptions, arguments, principals, results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dovetail import Middleware, Server, ToolResult, UsageError
from dovetail.client import Client
from dovetail.core.principal import Principal
from dovetail.errors import DuplicateError, InvalidParamsError, RpcError
from dovetail.middleware import CallNext, CallTool
from dovetail.mount import ArgumentTransform, ToolTransform
from dovetail.testing import connect

Script = Callable[[Client], Awaitable[None]]


def make_shop() -> Server:
    server = Server("shop")

    @server.tool
    async def search(q: str, region: str = "eu", limit: int = 10) -> str:
        """Search things."""
        return f"{q} in {region}, {limit}"

    @server.tool
    async def get_item(id: str) -> str:
        return id

    @server.tool
    async def delete_item(id: str) -> str:
        return f"deleted {id}"

    @server.prompt
    async def get_help() -> str:
        return "help"

    @server.resource("shop://public")
    async def public() -> str:
        return "public"

    @server.resource("shop://private")
    async def private() -> str:
        return "private"

    return server


def use(server: Server, script: Script, **more: Any) -> None:
    async def run() -> None:
        async with connect(server, **more) as client:
            await script(client)

    asyncio.run(run())


async def names(client: Client) -> list[str]:
    return [each.name for each in await client.list_tools()]


def test_include_and_exclude_hide_entries_completely() -> None:
    outer = Server("outer")
    outer.mount(make_shop(), "a", include=["get_*", "search"], exclude=["get_h*"])
    outer.mount(make_shop(), "b", exclude=["delete_item", "shop://private"])

    async def script(client: Client) -> None:
        assert await names(client) == ["a_search", "a_get_item", "b_search", "b_get_item"]
        assert [each.name for each in await client.list_prompts()] == ["b_get_help"]
        assert [each.uri for each in await client.list_resources()] == ["shop://b/public"]
        for tool in ("a_delete_item", "b_delete_item"):
            with pytest.raises(InvalidParamsError, match="Unknown tool"):
                await client.call(tool, {"id": "1"})
        with pytest.raises(InvalidParamsError):
            await client.get_prompt("a_get_help")
        for uri in ("shop://b/private", "shop://a/public"):
            with pytest.raises(RpcError):
                await client.read(uri)

    use(outer, script)


TRANSFORMS = {
    "search": ToolTransform(
        name="find",
        title="Find",
        description="Find goods.",
        arguments={
            "q": ArgumentTransform(name="text", description="What to find"),
            "region": ArgumentTransform(value="us"),
            "limit": ArgumentTransform(hidden=True),
        },
    ),
    "delete_item": ToolTransform(hidden=True),
}


@pytest.mark.parametrize("mode", ["2025-06-18", "2026-07-28"])
def test_tools_are_renamed_described_and_their_arguments_fixed(mode: str) -> None:
    outer = Server("outer")
    outer.mount(make_shop(), "shop", tools=TRANSFORMS)

    async def script(client: Client) -> None:
        tools = {each.name: each for each in await client.list_tools()}
        assert list(tools) == ["shop_find", "shop_get_item"]
        found = tools["shop_find"]
        assert (found.title, found.description) == ("Find", "Find goods.")
        assert found.input_schema["properties"] == {
            "text": {"type": "string", "description": "What to find"}
        }
        assert found.input_schema["required"] == ["text"]
        result = await client.call("shop_find", {"text": "tea"})
        assert result.text == "tea in us, 10"
        for hidden in ({"region": "eu"}, {"limit": 5}, {"q": "x"}):
            refused = await client.call("shop_find", {"text": "tea", **hidden})
            assert refused.is_error and "unknown argument" in refused.text
        for name in ("shop_search", "search", "find", "shop_delete_item"):
            with pytest.raises(InvalidParamsError, match="Unknown tool"):
                await client.call(name, {"q": "x"})

    use(outer, script, mode=mode)


def test_what_a_principal_may_see_depends_on_it() -> None:
    outer = Server("outer")

    def visible(principal: Principal | None, kind: str, name: str) -> bool:
        return name.startswith(("get_", "shop://public")) or (
            principal is not None and principal.id == "ada"
        )

    outer.mount(make_shop(), "shop", visible=visible)

    async def ada(client: Client) -> None:
        assert len(await names(client)) == 3
        assert len(await client.list_resources()) == 2
        assert (await client.call("shop_delete_item", {"id": "1"})).text == "deleted 1"

    async def eve(client: Client) -> None:
        assert await names(client) == ["shop_get_item"]
        assert [each.uri for each in await client.list_resources()] == ["shop://shop/public"]
        with pytest.raises(InvalidParamsError, match="Unknown tool"):
            await client.call("shop_delete_item", {"id": "1"})
        with pytest.raises(RpcError):
            await client.read("shop://shop/private")

    for _ in range(2):
        use(outer, ada, principal="ada")
        use(outer, eve, principal="eve")
        use(outer, eve)


def test_results_are_wrapped_by_the_middleware_of_the_mount() -> None:
    class Wrap(Middleware):
        async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
            assert request.name == "search"
            result = await call_next(request)
            return ToolResult([*result.content, "(from the shop)"])

    outer = Server("outer")
    outer.mount(make_shop(), "shop", tools=TRANSFORMS, middleware=[Wrap()])

    async def script(client: Client) -> None:
        assert (await client.call("shop_find", {"text": "x"})).text.endswith("(from the shop)")

    use(outer, script)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({"nothing": ToolTransform()}, "has no tool 'nothing' to change; it has 'search'"),
        (
            {"search": ToolTransform(arguments={"x": ArgumentTransform()})},
            "has no argument 'x'; it has 'q', 'region', 'limit'",
        ),
        (
            {"search": ToolTransform(arguments={"q": ArgumentTransform(hidden=True)})},
            "is required, so it cannot be hidden",
        ),
        (
            {"search": ToolTransform(arguments={"q": ArgumentTransform(name="limit")})},
            "would have two arguments 'limit'",
        ),
        (
            {"search": ToolTransform(name="x"), "get_item": ToolTransform(name="x")},
            "two tools would have the name 'x'",
        ),
    ],
)
def test_transforms_that_do_not_fit_are_refused(
    tools: dict[str, ToolTransform], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Server("outer").mount(make_shop(), "shop", tools=tools)


def test_a_pattern_is_not_a_list() -> None:
    with pytest.raises(UsageError, match="include is a list"):
        Server("outer").mount(make_shop(), "shop", include="get_*")


def test_a_renamed_tool_takes_part_in_conflicts() -> None:
    outer = Server("outer")
    outer.tools.add(lambda: "x", name="find")
    with pytest.raises(DuplicateError, match="tool 'find' of server 'shop'"):
        outer.mount(make_shop(), tools={"search": ToolTransform(name="find")})
