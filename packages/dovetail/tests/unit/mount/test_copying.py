"""Copies of the entries of another server, and tags."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail import Context, Middleware, Options, ResourcePage, Server, UsageError
from dovetail.auth import Guard
from dovetail.client import Client
from dovetail.errors import DuplicateError
from dovetail.testing import connect


def make_shop(**options: Any) -> Server:
    server = Server("shop", **options)

    @server.tool(tags={"public"}, task="optional")
    async def add(a: int) -> int:
        return a

    @server.tool(tags=["admin"], hidden=True)
    async def reset(ctx: Context) -> str:
        return "reset"

    @server.prompt(tags={"public"})
    async def greet(name: str) -> str:
        return f"Hello {name}"

    @server.resource("notes://today", tags={"public", "draft"})
    async def today() -> str:
        return "open"

    @server.resource("notes://{id}/text", tags={"public"})
    async def note(id: str) -> str:
        return f"note {id}"

    return server


def use(server: Server, script: Any) -> None:
    async def run() -> None:
        async with connect(server) as client:
            await script(client)

    asyncio.run(run())


@pytest.mark.parametrize("prefix", ["", "shop"])
def test_a_copy_stays_when_the_original_changes(prefix: str) -> None:
    shop = make_shop()

    @shop.complete("greet", "name")
    def names(text: str) -> list[str]:
        return ["Ada"]

    outer = Server("outer")
    outer.import_server(shop, prefix)
    shop.tools.remove("add")
    shop.tools.add(lambda: "x", name="later")
    tool = f"{prefix}_add" if prefix else "add"
    prompt = f"{prefix}_greet" if prefix else "greet"
    home = f"notes://{prefix}/" if prefix else "notes://"

    async def script(client: Client) -> None:
        assert [each.name for each in await client.list_tools()] == [tool]
        assert (await client.call(tool, {"a": 3})).data == 3
        assert (await client.call(tool.replace("add", "reset"))).text == "reset"
        assert list((await client.complete(prompt, "name")).values) == ["Ada"]
        assert (await client.read(f"{home}today")).text == "open"
        assert (await client.read(f"{home}7/text")).text == "note 7"
        task = await client.start(tool, {"a": 4})
        assert (await task.result()).data == 4

    use(outer, script)


def test_conflicts_are_refused_before_anything_is_copied() -> None:
    outer = Server("outer")
    outer.prompts.add(lambda: "x", name="greet")
    with pytest.raises(DuplicateError, match=r"prompt 'greet' of server 'shop' .* 'outer'"):
        outer.import_server(make_shop())
    assert outer.tools.list() == []


@asynccontextmanager
async def lifespan(server: Server) -> Any:
    yield


def with_a_list() -> Server:
    server = Server("shop")

    @server.resource_list
    async def more(cursor: str | None) -> ResourcePage:
        return ResourcePage([])

    return server


@pytest.mark.parametrize(
    ("server", "what"),
    [
        (make_shop(lifespan=lifespan), "a lifespan"),
        (make_shop(middleware=[Middleware()]), "middleware"),
        (make_shop(guard=Guard()), "a guard"),
        (with_a_list(), "resource lists"),
    ],
)
def test_a_server_that_a_copy_would_not_do_justice_is_refused(server: Server, what: str) -> None:
    with pytest.raises(UsageError, match=f"has {what}, which a copy would lose; mount it"):
        Server("outer").import_server(server)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (Options(include_tags={"public"}), ["add", "greet", "notes://today", "notes://{id}/text"]),
        (Options(exclude_tags={"public"}), ["reset"]),
        (
            Options(include_tags={"public", "admin"}, exclude_tags={"draft"}),
            ["add", "reset", "greet", "notes://{id}/text"],
        ),
    ],
)
def test_tags_decide_what_is_served(options: Options, names: list[str]) -> None:
    provider = make_shop(options=options).provider
    kinds = ("tool", "prompt", "resource", "resource template")
    assert [name for kind in kinds for name in provider.names(kind)] == names


def test_a_tag_is_not_a_set() -> None:
    with pytest.raises(UsageError, match="tags is a set of strings"):
        Server("x").tools.add(lambda: "x", name="x", tags="public")
