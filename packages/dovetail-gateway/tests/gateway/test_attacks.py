"""The attack table of mounts, proxies and transforms; docs/security.md has a row for each attack.

The attacker is `eve`, a client with few scopes or none. It must not get the treasure, nor the
state, tasks and questions of others, whichever way it asks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail import Context, Middleware, Proxy, Server, ToolError, ToolSearch, UsageError
from dovetail.auth import ApiKeys, Guard, KeyFile, Limits, Principal, Rate
from dovetail.client import Client
from dovetail.errors import DovetailError, InvalidParamsError, RpcError
from dovetail.middleware import ResultCache
from dovetail.mount import ArgumentTransform, ToolTransform
from dovetail.observability import AuditLog
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from tests.gateway.town import (
    LEGACY,
    MODERN,
    ROUTES,
    TREASURE,
    make_bank,
    make_outer,
    make_shop,
    opened,
    via,
)
from tests.patience import CAP
from tests.proxy.pairing import at_url

ROUTE = pytest.mark.parametrize("route", ROUTES)
PROXIED = pytest.mark.parametrize("proxied", [False, True], ids=["mount", "proxy"])
ADA = Principal("ada", {"shop:write"})
LOCAL = "http://127.0.0.1"


def run(attack: Awaitable[None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(CAP):
            await attack

    asyncio.run(limited())


# -- hidden tools -----------------------------------------------------------------------------

# How a mount hides `secret`.
HIDING: dict[str, dict[str, Any]] = {
    "exclude": {"exclude": ["secret"]},
    "include": {"include": ["greet"]},
    "hidden": {"tools": {"secret": ToolTransform(hidden=True)}},
    "renamed": {"tools": {"secret": ToolTransform(name="vault"), "greet": ToolTransform()}},
    "visible": {"visible": lambda principal, kind, name: name != "secret"},
}
# The names that an attacker tries.
NAMES = {
    "its upstream name": "secret",
    "its name with the prefix": "shop_secret",
    "the prefix of another mount": "bank_secret",
    "the prefix twice": "shop_shop_secret",
    "another spelling": "shop_SECRET",
}


@PROXIED
def test_every_route_reaches_a_tool_that_is_not_hidden(proxied: bool) -> None:
    async def control() -> None:
        outer = make_outer(make_shop(), proxied=proxied)
        for route in ROUTES:
            assert TREASURE in await via(route, outer, "shop_secret"), route
        await outer.close()

    run(control())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hiding", HIDING)
@PROXIED
def test_a_hidden_tool_cannot_be_called(proxied: bool, hiding: str, name: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=proxied, **HIDING[hiding])
        # The mount itself works, and a proxy has reached its upstream.
        assert await via("tools/call", outer, "shop_greet") == "Hello you"
        for route in ROUTES:
            answer = await via(route, outer, NAMES[name])
            assert TREASURE not in answer, route
        await outer.close()

    run(attack())


@pytest.mark.parametrize("hiding", HIDING)
def test_a_hidden_tool_is_not_found_or_suggested(hiding: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), **HIDING[hiding])
        for name in ("shop_secre", "secre", "shop_secret"):
            for route in ROUTES:
                answer = await via(route, outer, name)
                assert "'secret'" not in answer and "did you mean 'shop_secret" not in answer
        found = await via("tools/call", outer, "search_tools", {"query": "secret"})
        assert "secret" not in json.dumps(found).replace("matches 'secret'", "")
        await outer.close()

    run(attack())


@pytest.mark.parametrize("hiding", [each for each in HIDING if each != "renamed"])
def test_the_search_mode_of_a_mounted_server_does_not_call_hidden_tools(hiding: str) -> None:
    with pytest.raises(UsageError, match="search mode"):
        make_outer(make_shop(tool_search=ToolSearch()), **HIDING[hiding])

    async def attack() -> None:
        # Mounted in the inner server after that one was mounted.
        middle = Server("middle")
        middle.tool(lambda: "x", name="greet")
        outer = make_outer(middle, exclude=["in_secret"])
        middle.mount(make_shop(tool_search=ToolSearch()), "in")
        for route in ROUTES:
            answer = await via(route, outer, "shop_in_call_tool", {"name": "secret"})
            assert TREASURE not in answer, route
        await outer.close()

    run(attack())


# -- arguments --------------------------------------------------------------------------------

PAY = ToolTransform(
    arguments={
        "account": ArgumentTransform(value="charity"),
        "amount": ArgumentTransform(name="sum"),
    }
)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "a fixed argument": {"sum": 1, "account": "eve"},
    "a renamed argument by its upstream name": {"amount": 1},
    "both names of an argument": {"sum": 1, "amount": 2},
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
@PROXIED
def test_arguments_that_a_mount_changes_cannot_be_set(proxied: bool, arguments: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=proxied, tools={"pay": PAY})
        for route in ROUTES:
            answer = await via(route, outer, "shop_pay", ARGUMENTS[arguments])
            assert " to " not in answer, route
        assert await via("tools/call", outer, "shop_pay", {"sum": 1}) == "1 to charity"
        await outer.close()

    run(attack())


# -- resources --------------------------------------------------------------------------------

HIDDEN_NOTES = ["notes://secret", "notes://{id}/draft", "notes://secret/text", "plan"]
ESCAPES = {
    "without the prefix": "notes://secret",
    "with the prefix": "notes://shop/secret",
    "encoded": "notes://shop/%73ecret",
    "dots": "notes://shop/../secret",
    "encoded dots": "notes://shop/%2e%2e/secret",
    "a dot": "notes://shop/./secret",
    "two slashes": "notes://shop//secret",
    "an encoded slash": "notes://shop%2Fsecret",
    "the prefix twice": "notes://shop/shop/secret",
    "the prefix of another mount": "notes://bank/secret",
    "dots out of another mount": "notes://bank/../shop/secret",
    "another scheme": "other://shop/secret",
    "the scheme in capitals": "NOTES://shop/secret",
    "the prefix in capitals": "notes://SHOP/secret",
    "a query": "notes://shop/secret?x=1",
    "a fragment": "notes://shop/secret#x",
    "a hidden template": "notes://shop/1/draft",
    "a hidden template, encoded": "notes://shop/%31/draft",
    "a hidden URI of a template": "notes://shop/secret/text",
    "a hidden URI of a template, encoded": "notes://shop/%73ecret/text",
    "the template itself": "notes://shop/{id}/draft",
}
HIDING_NOTES: dict[str, dict[str, Any]] = {
    "exclude": {"exclude": HIDDEN_NOTES},
    "include": {"include": ["greet", "notes://today"]},
    "visible": {"visible": lambda principal, kind, name: name not in HIDDEN_NOTES},
}


@pytest.mark.parametrize("hiding", HIDING_NOTES)
@pytest.mark.parametrize("escape", ESCAPES)
def test_a_hidden_resource_cannot_be_read_or_watched(escape: str, hiding: str) -> None:
    async def attack() -> None:
        shop, uri = make_shop(), ESCAPES[escape]
        outer = make_outer(shop, **HIDING_NOTES[hiding])
        for mode in (LEGACY, MODERN):
            async with opened(outer, mode=mode) as client:
                with pytest.raises(RpcError):
                    await client.read(uri)
                assert await changes_seen(client, shop, uri) == ["notes://shop/today"]
        await outer.close()

    run(attack())


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_hidden_resource_of_a_proxy_cannot_be_read(escape: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=True, exclude=HIDDEN_NOTES)
        async with opened(outer) as client:
            with pytest.raises((RpcError, ToolError)):
                await client.read(ESCAPES[escape])
        await outer.close()

    run(attack())


async def changes_seen(client: Client, shop: Server, uri: str) -> list[str | None]:
    """The changes that a client sees of a URI it may not read, up to one that it may."""
    seen: list[str | None] = []
    wanted = [uri, "notes://shop/today"]
    try:
        async with client.subscribe(uris=wanted):
            pass
    except DovetailError:
        wanted = wanted[1:]  # a legacy client gets an error for the first
    async with client.subscribe(uris=wanted) as changes:
        for hidden in ("notes://secret", "notes://1/draft", "notes://secret/text"):
            shop.resource_updated(hidden)
        shop.resource_updated("notes://today")
        async for change in changes:
            seen.append(change.uri)
            if change.uri == "notes://shop/today":
                return seen
    return seen


PROMPTS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "a hidden prompt": lambda client: client.get_prompt("shop_plan", {"step": "1"}),
    "a hidden prompt by its upstream name": lambda client: client.get_prompt("plan", {"step": "1"}),
    "a hidden prompt of another mount": lambda c: c.get_prompt("bank_plan", {"step": "1"}),
    "completion of a hidden prompt": lambda client: client.complete("shop_plan", "step"),
    "completion of it by its upstream name": lambda client: client.complete("plan", "step"),
    "completion of a hidden template": lambda c: c.complete("notes://shop/{id}/draft", "id"),
    "completion of it by its upstream URI": lambda c: c.complete("notes://{id}/draft", "id"),
}


@pytest.mark.parametrize("attempt", PROMPTS)
@pytest.mark.parametrize("hiding", HIDING_NOTES)
@PROXIED
def test_hidden_prompts_and_completions_are_unknown(
    proxied: bool, hiding: str, attempt: str
) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=proxied, **HIDING_NOTES[hiding])
        async with opened(outer) as client:
            with pytest.raises(InvalidParamsError):
                await PROMPTS[attempt](client)
        await outer.close()

    run(attack())


# -- scopes -----------------------------------------------------------------------------------


@ROUTE
def test_the_scope_of_one_mount_is_none_in_another(route: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop())
        assert TREASURE not in await via(route, outer, "shop_write")
        async with opened(outer, Principal("eve", {"shop:write"})) as client:
            assert (await client.call("shop_write")).text == TREASURE
            with pytest.raises(InvalidParamsError):
                await client.call("bank_transfer")
            forwarded = await client.call("call_tool", {"name": "bank_transfer"})
            assert TREASURE not in forwarded.text
            found = await client.call("search_tools", {"query": "transfer"})
            assert "bank_transfer" not in found.text
        await outer.close()

    run(attack())


def test_scopes_that_a_mounted_guard_implies_are_not_gained() -> None:
    async def attack() -> None:
        # `implies` of the bank's own guard does not apply to callers of the outer server.
        bank = make_bank()
        bank.guard = Guard(implies={"shop:write": {"bank:write"}})
        outer = Server("outer")
        outer.mount(bank, "bank")
        async with opened(outer, ADA) as client:
            with pytest.raises(InvalidParamsError):
                await client.call("bank_transfer")
        await outer.close()

    run(attack())


def test_a_list_for_one_caller_is_not_shown_to_another() -> None:
    async def attack() -> None:
        outer = Server("outer")
        outer.mount(
            make_shop(), "shop", visible=lambda who, kind, name: who is not None or name != "pay"
        )
        for who, sees in ((ADA, True), ("eve", False), (ADA, True), ("eve", False)):
            async with opened(outer, who) as client:
                assert ("shop_write" in {e.name for e in await client.list_tools()}) is sees
        for anyone, sees in (("eve", True), (None, False), ("eve", True)):
            async with opened(outer, anyone) as client:
                assert ("shop_pay" in {e.name for e in await client.list_tools()}) is sees
        await outer.close()

    run(attack())


def test_a_cached_result_is_not_returned_to_another_caller() -> None:
    async def attack() -> None:
        inner, outside = ResultCache(tools={"write"}), ResultCache(tools={"shop_write"})
        outer = make_outer(make_shop(), middleware=[inner])
        outer.add_middleware(outside)
        async with opened(outer, ADA) as client:
            assert (await client.call("shop_write")).text == TREASURE
        for route in ROUTES:
            assert TREASURE not in await via(route, outer, "shop_write")
        # The same principal with fewer scopes is another caller.
        async with opened(outer, "ada") as client:
            with pytest.raises(InvalidParamsError):
                await client.call("shop_write")
        await outer.close()

    run(attack())


def test_a_cache_that_mounts_share_keeps_their_results_apart() -> None:
    async def attack() -> None:
        cache, outer = ResultCache(tools={"name"}), Server("outer")
        for name in ("shop", "bank"):
            mounted = Server(name)
            mounted.tool(lambda name=name: name, name="name", input_schema={"type": "object"})
            outer.mount(mounted, name, middleware=[cache])
        for name in ("shop", "bank", "shop"):
            assert await via("tools/call", outer, f"{name}_name") == name
        await outer.close()

    run(attack())


# -- identity ---------------------------------------------------------------------------------


@PROXIED
def test_the_session_state_of_another_principal_is_out_of_reach(proxied: bool) -> None:
    async def attack() -> None:
        shop = make_shop()
        outer = make_outer(shop)
        async with opened(outer, "ada") as ada, opened(outer, "eve") as eve:
            assert (await ada.call("shop_remember", {"text": TREASURE})).text == "kept"
            assert (await ada.call("shop_recall")).text == TREASURE
            assert (await eve.call("shop_recall")).text == "nothing"
            # Nor does another server see it.
            assert (await ada.call("bank_recall")).text == "nothing"
        if proxied:
            # To the upstream of a proxy without credentials of its own, callers are anonymous.
            other = make_outer(shop, proxied=True)
            async with opened(other, "ada") as ada:
                assert "authenticated caller" in (await ada.call("shop_recall")).text
            await other.close()
        await outer.close()

    run(attack())


@PROXIED
def test_the_task_of_another_principal_is_unknown(proxied: bool) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=proxied)
        async with opened(outer, "ada") as ada, opened(outer, "eve") as eve:
            await ada.call("shop_greet")  # a proxy knows then whether its upstream has tasks
            task = await ada.start("shop_slow")
            for id in (task.id, task.id.rpartition(".")[0] or task.id):
                with pytest.raises(InvalidParamsError):
                    await eve.task(id)
            assert (await task.result(timeout=CAP)).text == TREASURE
        await outer.close()

    run(attack())


@PROXIED
def test_nobody_answers_the_question_of_another(proxied: bool) -> None:
    async def send(outer: Server, who: str, **more: Any) -> dict[str, Any]:
        meta = {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {"elicitation": {"form": {}}}}
        params = {"name": "shop_ask", "arguments": {}, "_meta": meta, **more}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        raw = await outer.handle(json.dumps(message), principal=who)
        assert raw is not None
        answer: dict[str, Any] = json.loads(raw)
        return answer

    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=proxied)
        asked = (await send(outer, "ada"))["result"]
        answer = {"action": "accept", "content": {"name": "x"}}
        given = {
            "requestState": asked["requestState"],
            "inputResponses": dict.fromkeys(asked["inputRequests"], answer),
        }
        assert (await send(outer, "eve", **given))["error"]["code"] == -32602
        assert TREASURE in json.dumps(await send(outer, "ada", **given))
        await outer.close()

    run(attack())


def test_each_caller_of_a_mounted_proxy_has_its_own_connection() -> None:
    upstream = Server("upstream")

    @upstream.tool
    async def whoami(ctx: Context) -> str:
        return str(dict(ctx.scope["headers"]).get(b"authorization", b"").decode())

    def find(principal: Principal | None) -> dict[str, str]:
        return {"Authorization": f"Bearer of-{principal.id if principal else 'nobody'}"}

    async def attack(url: str) -> None:
        outer = Server("outer")
        outer.mount(Proxy(url, name="up", auth=find), "up")
        for who in ("ada", "eve", None, "ada"):
            async with opened(outer, who) as client:
                assert (await client.call("up_whoami")).text == f"Bearer of-{who or 'nobody'}"
        await outer.close()

    with at_url(upstream) as url:
        run(attack(url))


# -- middleware and guards --------------------------------------------------------------------


class Closed(Middleware):
    """Refuses all calls."""

    async def call_tool(self, request: Any, call_next: Any) -> Any:
        raise ToolError("closed")


@ROUTE
@PROXIED
def test_the_middleware_of_a_mount_is_not_bypassed(proxied: bool, route: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(), proxied=proxied, middleware=[Closed()])
        for name in ("shop_secret", "secret", "shop_greet"):
            answer = await via(route, outer, name)
            assert TREASURE not in answer and "Hello" not in answer
        await outer.close()

    run(attack())


@ROUTE
def test_the_middleware_of_a_mounted_server_is_not_bypassed(route: str) -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(middleware=[Closed()]))
        assert TREASURE not in await via(route, outer, "shop_secret")
        await outer.close()

    run(attack())


ANONYMOUS: dict[str, Callable[[Client], Awaitable[Any]]] = {
    "a tool": lambda client: client.call("shop_secret"),
    "a tool through call_tool": lambda c: _raising(c.call("call_tool", {"name": "shop_secret"})),
    "a task": lambda client: client.start("shop_slow"),
    "a prompt": lambda client: client.get_prompt("shop_plan", {"step": "1"}),
    "a resource": lambda client: client.read("notes://shop/secret"),
    "a template": lambda client: client.read("notes://shop/1/draft"),
    "completion": lambda client: client.complete("shop_plan", "step"),
}


async def _raising(call: Awaitable[Any]) -> None:
    (await call).raise_for_error()


@pytest.mark.parametrize("attempt", ANONYMOUS)
@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_a_mounted_guard_refuses_anonymous_callers(mode: str, attempt: str, tmp_path: Path) -> None:
    async def attack() -> None:
        KeyFile(tmp_path / "keys").add("ada")
        shop = make_shop(guard=Guard(ApiKeys(tmp_path / "keys")))
        outer = make_outer(shop)
        async with opened(outer, None, mode=mode) as client:
            with pytest.raises((RpcError, ToolError)):
                await ANONYMOUS[attempt](client)
            found = await client.call("search_tools", {"query": "secret greet pay"})
            assert "shop_" not in found.text
            assert await client.list_prompts() == []
        async with opened(outer, "ada", mode=mode) as client:
            assert (await client.call("shop_greet")).text == "Hello you"
        await outer.close()

    run(attack())


@ROUTE
@PROXIED
def test_the_read_only_mode_of_a_mounted_guard_holds(proxied: bool, route: str) -> None:
    async def attack() -> None:
        guard = Guard(read_only=True)
        shop = Proxy(make_shop(), name="shop", guard=guard) if proxied else make_shop(guard=guard)
        outer = make_outer(shop)
        assert TREASURE not in await via(route, outer, "shop_secret")
        assert await via("tools/call", outer, "shop_greet") == "Hello you"
        await outer.close()

    run(attack())


def test_the_rate_of_a_mounted_guard_holds_over_all_routes() -> None:
    async def attack() -> None:
        limits = Limits(per_principal=Rate(1, per=3600, burst=2))
        outer = make_outer(make_shop(guard=Guard(limits=limits)))
        answers = [
            await via(route, outer, "shop_greet")
            for route in ("tools/call", "call_tool of the search mode", "tools/call")
        ]
        assert answers[:2] == ["Hello you"] * 2 and "Hello" not in answers[2]
        # It is the rate of one caller.
        async with opened(outer, "ada") as client:
            assert (await client.call("shop_greet")).text == "Hello you"
        await outer.close()

    run(attack())


def test_the_result_limit_of_a_mounted_guard_holds() -> None:
    async def attack() -> None:
        outer = make_outer(make_shop(guard=Guard(limits=Limits(max_result_bytes=500))))
        assert await via("tools/call", outer, "shop_greet") == "Hello you"
        answer = await via("tools/call", outer, "shop_greet", {"name": "x" * 1000})
        assert "too large" in answer
        await outer.close()

    run(attack())


def test_a_guarded_route_of_a_mounted_server_stays_guarded(tmp_path: Path) -> None:
    async def attack() -> None:
        keys = KeyFile(tmp_path / "keys.json")
        keys.add("ada")
        shop = Server("shop", guard=Guard(ApiKeys(keys.path)))
        shop.custom_route("/admin", guarded=True)(lambda request: TREASURE)
        # Neither of them has a guard that could tell who calls.
        middle, outer = Server("middle"), Server("outer")
        middle.mount(shop, "shop")
        outer.mount(middle, "middle")
        for server in (middle, outer):
            transport = httpx.ASGITransport(server.http_app())
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as client:
                for headers in ({}, {"Authorization": "Bearer x"}):
                    response = await client.get("/admin", headers=headers)
                    assert response.status_code == 403
                    assert TREASURE not in response.text
        middle.unmount("shop")
        assert not list(outer.routes)
        await outer.close()

    run(attack())


def test_an_unmounted_server_is_out_of_reach() -> None:
    async def attack() -> None:
        outer = make_outer(make_shop())
        assert await via("tools/call", outer, "shop_secret") == TREASURE
        outer.unmount("shop")
        for route in ROUTES:
            assert TREASURE not in await via(route, outer, "shop_secret")
        async with opened(outer) as client:
            with pytest.raises(RpcError):
                await client.read("notes://shop/secret")
        await outer.close()

    run(attack())


# -- audit ------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[tuple[str, str, str]]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        (line["principal"], line["name"], line["outcome"])
        for line in lines
        if line["method"] == "tools/call"
    ]


@PROXIED
def test_the_audit_log_has_calls_of_mounts_by_principal_and_outer_name(
    proxied: bool, tmp_path: Path
) -> None:
    async def attack() -> None:
        outside, inside = tmp_path / "outside", tmp_path / "inside"
        guard = Guard(audit=AuditLog(inside))
        shop = Proxy(make_shop(), name="shop", guard=guard) if proxied else make_shop(guard=guard)
        outer = make_outer(shop, tools={"secret": ToolTransform(hidden=True)})
        outer.guard = Guard(audit=AuditLog(outside))
        for route in ("tools/call", "call_tool of the search mode"):
            await via(route, outer, "shop_greet")
            await via(route, outer, "shop_secret")
        await outer.close()
        greeted, refused = ("eve", "shop_greet", "ok"), ("eve", "shop_secret")
        found = lines_of(outside)
        assert [found[0], found[2]] == [greeted, greeted]
        assert [line[:2] for line in (found[1], found[3])] == [refused, refused]
        assert found[1][2] != "ok" and found[3][2] != "ok"
        # The mounted server logs its own name for the tool, and no call that did not reach it.
        assert lines_of(inside) == [("eve", "greet", "ok")] * 2

    run(attack())
