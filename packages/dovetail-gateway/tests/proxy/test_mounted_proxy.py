"""A proxy that is mounted in a server with tools of its own, in every pairing of eras."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from dovetail import Options, Proxy, Server, UsageError
from dovetail.client import Change, Client
from dovetail.errors import InvalidParamsError, RpcError
from tests.patience import CAP
from tests.proxy.pairing import PAIRINGS, UPSTREAM, Open, Pairing, at_url

MOUNTED = [each for each in PAIRINGS if each.transport == "http" or each.caller != each.upstream]


def make_outer() -> Server:
    server = Server("outer", options=Options(state="memory://", task_poll=0.05))

    @server.tool
    async def own() -> str:
        return "own"

    @server.tool(task="optional")
    async def slow() -> str:
        return "slow"

    return server


@pytest.fixture(scope="module")
def all_mounted(upstream_url: str) -> Iterator[dict[Pairing, Open]]:
    found: dict[Pairing, Open] = {}
    yield found
    for each in found.values():
        each.close()


@pytest.fixture(params=MOUNTED, ids=str)
def opened(
    request: pytest.FixtureRequest, all_mounted: dict[Pairing, Open], upstream_url: str
) -> Open:
    pairing: Pairing = request.param
    if pairing not in all_mounted:
        target = upstream_url if pairing.transport == "http" else UPSTREAM
        all_mounted[pairing] = Open(pairing, target, at_url, make_outer())
    found = all_mounted[pairing]
    found.reset()
    return found


def test_lists_and_calls_of_both(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        names = [tool.name for tool in await client.list_tools()]
        assert names[:2] == ["own", "slow"]
        assert {"front_add", "front_greet", "front_bake"} <= set(names)
        assert (await client.call("own")).text == "own"
        assert (await client.call("front_add", {"a": 1, "b": 2})).text == "3"
        for name in ("add", "front_own", "front_nothing"):
            with pytest.raises(InvalidParamsError):
                await client.call(name)

    opened.run(scenario)


def test_prompts_resources_and_completion(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        assert [each.name for each in await client.list_prompts()] == ["front_compose"]
        prompt = await client.get_prompt("front_compose", {"topic": "tea"})
        assert prompt.messages[0].content.text == "Write about tea"  # type: ignore[union-attr]
        assert list((await client.complete("front_compose", "topic", "se")).values) == ["sea"]
        [resource] = await client.list_resources()
        assert resource.uri == "note://front/1/title"
        read = await client.read(resource.uri)
        assert (read.text, read.contents[0].uri) == ("First", resource.uri)
        [template] = await client.list_templates()
        assert template.uri_template == "note://front/{number}"
        with pytest.raises(RpcError):
            await client.read("note://1/title")

    opened.run(scenario)


def test_questions(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        assert (await client.call("front_greet")).text == "Hello Ada"
        assert (await client.call("front_think")).text == "I think."

    opened.run(scenario)


def test_tasks_of_both(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        own = await client.start("slow")
        theirs = await client.start("front_bake")
        assert (await own.result()).text == "slow"
        assert (await theirs.result()).text == "a cake"
        asking = await client.start("front_bake", {"ask": True})
        assert (await asking.result()).text == "a cake for Ada"

    opened.run(scenario)


def test_changes_of_a_resource(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        async with client.subscribe(uris=["note://front/1"]) as changes:
            await client.call("front_write", {"number": "1", "text": "new"})
            async with asyncio.timeout(CAP):
                change: Change = await anext(changes)
        assert change.uri == "note://front/1"
        assert (await client.read("note://front/1")).text == "new"

    opened.run(scenario)


def test_a_proxy_needs_a_prefix() -> None:
    with pytest.raises(UsageError, match="needs a prefix"):
        make_outer().mount(Proxy(UPSTREAM, name="front"))


def test_an_upstream_that_is_unavailable_is_named_and_the_rest_goes_on() -> None:
    outer = make_outer()
    outer.mount(Proxy("http://127.0.0.1:9/mcp", name="gone", connect_timeout=CAP), "gone")

    async def run() -> None:
        async with Client(outer, timeout=CAP) as client:
            listed = await client.request("tools/list", {})
            assert [each["name"] for each in listed["tools"]] == ["own", "slow"]
            assert "gone" in listed["_meta"]["dev.dovetail/unavailable"]
            assert (await client.call("own")).text == "own"
            failed = await client.call("gone_add", {})
            assert failed.is_error and "gone" in failed.text
        await outer.close()

    asyncio.run(run())
