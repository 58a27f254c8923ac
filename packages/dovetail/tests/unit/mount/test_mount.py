"""Mounted servers: names, lists, calls, questions, changes, guards, lifespans, conflicts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail import (
    Context,
    Middleware,
    Options,
    Proxy,
    Resource,
    ResourceLink,
    ResourcePage,
    Server,
    ToolResult,
    UsageError,
)
from dovetail.auth import Guard, Limits, Rate
from dovetail.client import Client
from dovetail.core.principal import Principal
from dovetail.errors import DuplicateError, InvalidParamsError, RpcError
from dovetail.middleware import CallNext, CallTool
from dovetail.state import MemoryBackend
from dovetail.testing import connect
from tests.patience import CAP

MODES = ["2024-11-05", "2025-11-25", "2026-07-28"]
Script = Callable[[Client], Awaitable[None]]


def make_shop(**options: Any) -> Server:
    server = Server("shop", **options)

    @server.tool
    async def add(a: int, b: int = 0) -> int:
        return a + b

    @server.tool
    async def link() -> ResourceLink:
        return ResourceLink(uri="notes://today", name="today")

    @server.tool
    async def ask(ctx: Context) -> str:
        form = {"type": "object", "properties": {"n": {"type": "string"}}}
        found = await ctx.elicit("Name?", form)
        return str(found.data)

    @server.tool
    async def inner(ctx: Context) -> str:
        [contents] = await ctx.read_resource("notes://today")
        return contents.text  # type: ignore[union-attr]

    @server.tool(task="optional", resumable=True)
    async def slow(text: str) -> str:
        return text

    @server.prompt
    async def greet(name: str) -> str:
        return f"Hello {name}"

    @server.complete(greet, "name")
    async def names(text: str) -> list[str]:
        return ["Ada"]

    @server.resource("notes://today")
    async def today() -> str:
        return "open"

    @server.resource("notes://{id}/text")
    async def note(id: str) -> str:
        return f"note {id}"

    @server.resource_list
    async def more(cursor: str | None) -> ResourcePage:
        if cursor is None:
            return ResourcePage([Resource(uri="notes://1/text", name="1")], "2")
        return ResourcePage([Resource(uri="notes://2/text", name="2")])

    return server


def make_outer(**options: Any) -> Server:
    server = Server("outer", **options)

    @server.tool
    async def own() -> str:
        return "own"

    @server.resource("outer://self")
    async def self_() -> str:
        return "outer"

    return server


def use(server: Server, script: Script, mode: str = "auto", **more: Any) -> None:
    async def run() -> None:
        async with connect(server, mode=mode, timeout=CAP, **more) as client:
            await script(client)

    asyncio.run(run())


def mounted(prefix: str = "shop", **options: Any) -> Server:
    outer = make_outer()
    outer.mount(make_shop(**options), prefix)
    return outer


@pytest.mark.parametrize("mode", MODES)
def test_everything_of_a_mounted_server_is_there_under_its_prefix(mode: str) -> None:
    async def script(client: Client) -> None:
        tools = [each.name for each in await client.list_tools()]
        assert tools == ["own", "shop_add", "shop_link", "shop_ask", "shop_inner", "shop_slow"]
        assert (await client.call("own")).text == "own"
        assert (await client.call("shop_add", {"a": 1, "b": 2})).text == "3"
        assert (await client.call("shop_inner")).text == "open"
        assert [each.name for each in await client.list_prompts()] == ["shop_greet"]
        prompt = await client.get_prompt("shop_greet", {"name": "Ada"})
        assert prompt.messages[0].content.text == "Hello Ada"  # type: ignore[union-attr]
        assert list((await client.complete("shop_greet", "name", "A")).values) == ["Ada"]
        uris = [each.uri for each in await client.list_resources()]
        assert uris == [
            "outer://self", "notes://shop/today", "notes://shop/1/text", "notes://shop/2/text",
        ]  # fmt: skip
        [template] = await client.list_templates()
        assert template.uri_template == "notes://shop/{id}/text"
        read = await client.read("notes://shop/7/text")
        assert (read.text, read.contents[0].uri) == ("note 7", "notes://shop/7/text")
        assert (await client.read("outer://self")).text == "outer"

    use(mounted(), script, mode)


def test_links_point_to_the_outer_uris() -> None:
    async def script(client: Client) -> None:
        result = await client.call("shop_link")
        assert isinstance(result.content[0], ResourceLink)
        assert (await client.read(result.content[0].uri)).text == "open"

    use(mounted(), script)


@pytest.mark.parametrize("mode", MODES[1:])
def test_questions_and_tasks_of_a_mounted_server_work(mode: str) -> None:
    async def script(client: Client) -> None:
        assert "Ada" in (await client.call("shop_ask")).text
        task = await client.start("shop_slow", {"text": "done"})
        assert (await task.result()).text == "done"

    use(mounted(), script, mode, elicit=lambda ask: {"n": "Ada"})


class WatchedBackend(MemoryBackend):
    """A backend that servers open and close."""

    is_open = False

    async def open(self) -> None:
        self.is_open = True

    async def close(self) -> None:
        self.is_open = False


@pytest.mark.parametrize("is_late", [False, True])
def test_tasks_of_a_mounted_tool_are_those_of_the_outer_server(is_late: bool) -> None:
    inner, backend = WatchedBackend(), WatchedBackend()
    shop = Server("shop", options=Options(state=inner))
    outer = Server("outer", options=Options(state=backend))
    if not is_late:
        shop.tools.add(lambda: "done", name="work", task="optional")
    outer.mount(shop, "shop")
    if is_late:
        shop.tools.add(lambda: "done", name="work", task="optional")

    async def script(client: Client) -> None:
        await client.list_tools()
        assert backend.is_open != is_late
        task = await client.start("shop_work")
        assert (await task.result()).text == "done"
        assert backend.is_open

    use(outer, script)
    assert not backend.is_open and not inner.is_open


@pytest.mark.parametrize("mode", MODES[1:])
def test_later_registrations_and_removals_appear_and_are_announced(mode: str) -> None:
    shop = make_shop()
    outer = make_outer()
    outer.mount(shop, "shop")

    async def script(client: Client) -> None:
        changed = asyncio.Event()
        async with client.subscribe(tools=True) as changes:
            shop.tools.add(lambda: "new", name="later")
            async with asyncio.timeout(CAP):
                async for _ in changes:
                    changed.set()
                    break
        assert changed.is_set()
        assert "shop_later" in [each.name for each in await client.list_tools()]
        assert (await client.call("shop_later")).text == "new"
        shop.tools.remove("later")
        assert "shop_later" not in [each.name for each in await client.list_tools()]
        with pytest.raises(InvalidParamsError, match="Unknown tool"):
            await client.call("shop_later")
        outer.unmount("shop")
        assert [each.name for each in await client.list_tools()] == ["own"]

    use(outer, script, mode)


@pytest.mark.parametrize("mode", MODES[1:])
def test_updates_of_a_resource_reach_its_subscribers(mode: str) -> None:
    shop = make_shop()
    outer = make_outer()
    outer.mount(shop, "shop")

    async def script(client: Client) -> None:
        async with client.subscribe(uris=["notes://shop/today"]) as changes:
            shop.resource_updated("notes://today")
            async with asyncio.timeout(CAP):
                async for change in changes:
                    assert change.uri == "notes://shop/today"
                    break

    use(outer, script, mode)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_pages_go_through_all_servers(size: int) -> None:
    outer = make_outer(options=Options(page_size=size))
    outer.mount(make_shop(), "a")
    outer.mount(make_shop(options=Options(page_size=2)), "b")

    async def script(client: Client) -> None:
        names = [each.name for each in await client.list_tools()]
        assert len(names) == len(set(names)) == 11
        assert len(await client.list_resources()) == 7
        with pytest.raises(InvalidParamsError, match="The cursor is not one of"):
            await client.list_tools_page("abc")

    use(outer, script)


def test_mounts_may_be_nested_and_have_no_prefix() -> None:
    middle = Server("middle")
    middle.mount(make_shop(), "shop")
    outer = make_outer()
    outer.mount(middle)

    async def script(client: Client) -> None:
        assert (await client.call("shop_add", {"a": 2})).data == 2
        assert (await client.read("notes://shop/today")).text == "open"
        assert "shop_add" in [each.name for each in await client.list_tools()]

    use(outer, script)


def test_middleware_of_both_servers_runs_around_a_call() -> None:
    seen: list[tuple[str, str]] = []

    class Note(Middleware):
        def __init__(self, name: str) -> None:
            self.name = name

        async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
            seen.append((self.name, request.name))
            return await call_next(request)

    outer = make_outer(middleware=[Note("outer")])
    outer.mount(make_shop(middleware=[Note("shop")]), "shop")

    async def script(client: Client) -> None:
        assert (await client.call("shop_add", {"a": 1})).data == 1
        assert (await client.call("own")).text == "own"

    use(outer, script)
    assert seen == [("outer", "shop_add"), ("shop", "add"), ("outer", "own")]


def test_lifespans_are_entered_and_exited_together() -> None:
    events: list[str] = []

    def lifespan(name: str) -> Callable[[Server], Any]:
        @asynccontextmanager
        async def enter(server: Server) -> AsyncIterator[str]:
            events.append(f"{name} starts")
            yield name
            events.append(f"{name} ends")

        return enter

    shop = Server("shop", lifespan=lifespan("shop"))
    outer = Server("outer", lifespan=lifespan("outer"))

    async def which(ctx: Context) -> str:
        return str(ctx.lifespan)

    shop.tools.add(which)
    outer.tools.add(which)
    outer.mount(shop, "shop")

    async def script(client: Client) -> None:
        assert (await client.call("shop_which")).text == "shop"
        assert (await client.call("which")).text == "outer"

    use(outer, script)
    assert events == ["outer starts", "shop starts", "shop ends", "outer ends"]


# -- guards -----------------------------------------------------------------------------------


def test_scopes_of_a_mounted_tool_hold() -> None:
    shop = Server("shop")
    shop.tools.add(lambda: "secret", name="secret", scopes={"shop"})
    outer = make_outer()
    outer.mount(shop, "shop")

    async def stranger(client: Client) -> None:
        assert [each.name for each in await client.list_tools()] == ["own"]
        for name in ("shop_secret", "secret"):
            with pytest.raises(InvalidParamsError, match="Unknown tool"):
                await client.call(name)

    async def friend(client: Client) -> None:
        assert (await client.call("shop_secret")).text == "secret"

    use(outer, stranger, principal=Principal("eve", ["other"]))
    use(outer, friend, principal=Principal("ada", ["shop"]))


def test_a_guard_that_needs_a_caller_refuses_anonymous_ones() -> None:
    outer = make_outer()
    outer.mount(make_shop(guard=Guard(anonymous=False)), "shop")

    async def anonymous(client: Client) -> None:
        assert [each.name for each in await client.list_tools()] == ["own"]
        assert [each.uri for each in await client.list_resources()] == ["outer://self"]
        for request in (
            client.call("shop_add", {"a": 1}),
            client.read("notes://shop/today"),
            client.get_prompt("shop_greet", {"name": "x"}),
            client.complete("shop_greet", "name"),
        ):
            with pytest.raises(RpcError, match="needs an authenticated caller"):
                await request

    async def known(client: Client) -> None:
        assert (await client.call("shop_add", {"a": 1})).data == 1

    use(outer, anonymous)
    use(outer, known, principal="ada")


def test_limits_and_read_only_of_the_mounted_guard_hold() -> None:
    shop = Server("shop", guard=Guard(limits=Limits(per_principal=Rate.parse("2/h"))))
    shop.tools.add(lambda: "read", name="read", annotations={"readOnlyHint": True})
    locked = Server("locked", guard=Guard(read_only=True))
    locked.tools.add(lambda: "written", name="write")
    outer = make_outer()
    outer.mount(shop, "shop")
    outer.mount(locked, "locked")

    async def script(client: Client) -> None:
        assert [each.name for each in await client.list_tools()] == ["own", "shop_read"]
        with pytest.raises(InvalidParamsError, match="Unknown tool"):
            await client.call("locked_write")
        texts = []
        for _ in range(4):
            try:
                texts.append((await client.call("shop_read")).text)
            except RpcError as error:
                texts.append(str(error))
        assert texts[-1] != "read"
        assert (await client.call("own")).text == "own"

    use(outer, script, principal="ada")


# -- conflicts --------------------------------------------------------------------------------


def test_conflicts_name_both_sides() -> None:
    shop = make_shop()
    outer = make_outer()
    outer.tools.add(lambda: "x", name="shop_add")
    with pytest.raises(DuplicateError, match=r"'shop_add' of server 'shop', mounted .*'outer'"):
        outer.mount(shop, "shop")
    outer.tools.remove("shop_add")
    outer.mount(shop, "shop")
    with pytest.raises(DuplicateError, match=r"'shop_add' of server 'outer' .*server 'shop'"):
        outer.tools.add(lambda: "x", name="shop_add")
    outer.tools.add(lambda: "x", name="shop_new")
    with pytest.raises(DuplicateError, match=r"'shop_new' of server 'shop', .*'outer'"):
        shop.tools.add(lambda: "x", name="new")
    assert "new" not in [each.name for each in shop.tools.list()]


def test_wrong_mounts_are_refused() -> None:
    outer, shop = make_outer(), make_shop()
    with pytest.raises(UsageError, match="mounted in itself"):
        outer.mount(outer, "x")
    shop.mount(outer, "outer")
    with pytest.raises(UsageError, match="mounted in itself"):
        outer.mount(shop, "shop")
    with pytest.raises(UsageError, match="a prefix has 1 to 32"):
        outer.mount(Server("s"), "a b")
    with pytest.raises(UsageError, match="only a Server"):
        outer.mount("shop")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no server is mounted"):
        Server("s").unmount("x")
    other = make_outer()
    other.mount(Server("s"), "a")
    with pytest.raises(DuplicateError, match="would also belong to"):
        other.mount(Server("t"), "a_b")
    with pytest.raises(UsageError, match="prefixes: 'a'"):
        other.unmount("b")


def test_uris_cannot_leave_the_prefix() -> None:
    async def script(client: Client) -> None:
        for uri in ("notes://today", "notes://shop", "notes://shop/../today", "outer://shop/self"):
            with pytest.raises(RpcError):
                await client.read(uri)

    use(mounted(), script)


def test_a_failing_mount_does_not_take_the_others_along() -> None:
    class Broken(Middleware):
        async def list_tools(self, request: Any, call_next: Any) -> Any:
            raise InvalidParamsError("broken list")

    outer = make_outer()
    outer.mount(make_shop(middleware=[Broken()]), "broken")
    outer.mount(make_shop(), "shop")

    async def script(client: Client) -> None:
        names = [each.name for each in await client.list_tools()]
        assert "own" in names and "shop_add" in names and "broken_add" not in names
        raw = await client.request("tools/list", {})
        assert raw["_meta"]["dev.dovetail/unavailable"] == {"shop": "broken list"}

    use(outer, script)


def test_capabilities_of_all_servers_are_joined() -> None:
    outer, plain, inner = Server("outer"), Server("plain"), Server("inner")
    # Such as a proxy of a server that does not announce changes.
    plain.capabilities = lambda: {"resources": {"subscribe": True}}  # type: ignore[method-assign]
    inner.tool("look")(lambda: "seen")
    inner.resource("note://a", name="a")(lambda: "a")
    for mounted in (plain, inner):
        outer.mount(mounted, mounted.name)
    assert outer.capabilities() == {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
    }
    plain.capabilities = lambda: {"tools": {}}  # type: ignore[method-assign]
    outer.unmount("plain")
    outer.mount(plain, "plain")
    assert outer.capabilities()["tools"] == {"listChanged": True}


def test_what_a_mounted_proxy_lacks_is_listed_as_empty() -> None:
    inner = Server("inner")
    inner.tool("look")(lambda: "seen")
    outer = Server("outer")
    outer.mount(Proxy(inner, name="inner"), "inner")

    async def script(client: Client) -> None:
        # The client was told of prompts before the proxy knew its upstream.
        assert [tool.name for tool in await client.list_tools()] == ["inner_look"]
        assert "prompts" in outer.capabilities()
        assert await client.list_prompts() == []
        assert await client.list_resources() == []

    use(outer, script)


def test_capabilities_follow_a_mounted_proxy() -> None:
    outer = make_outer()
    outer.mount(Proxy(make_shop(), name="shop"), "shop")

    async def script(client: Client) -> None:
        assert "tasks" not in outer.capabilities()
        assert (await client.call("shop_add", {"a": 1})).text == "1"
        assert "tasks" in outer.capabilities()
        task = await client.start("shop_slow", {"text": "x"})
        assert (await task.result(timeout=CAP)).text == "x"

    use(outer, script)
