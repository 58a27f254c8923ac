"""Callers of one proxy do not see or answer each other's calls."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail import Client, Options, Proxy, Server, ToolAnnotations
from dovetail.auth import Guard
from dovetail.client.targets import LocalCaller
from dovetail.core.principal import Principal
from dovetail.errors import InvalidParamsError
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from tests.patience import CAP
from tests.peers.scripted import run
from tests.proxy.pairing import LEGACY, MODERN, UPSTREAM
from tests.proxy.upstream import make_upstream

READS = ToolAnnotations(read_only_hint=True)
GREET = {"name": "greet", "arguments": {}}
META = {
    PROTOCOL_VERSION: MODERN,
    CLIENT_CAPABILITIES: {"elicitation": {"form": {}}, "extensions": {}},
}


async def send(proxy: Proxy, principal: str | None, **params: Any) -> dict[str, Any]:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {**GREET, "_meta": META, **params},
    }
    raw = await proxy.handle(json.dumps(message), principal=principal)
    assert raw is not None
    answer: dict[str, Any] = json.loads(raw)
    return answer


def answers_to(result: dict[str, Any]) -> dict[str, Any]:
    answer = {"action": "accept", "content": {"name": "Ada"}}
    return {
        "requestState": result["requestState"],
        "inputResponses": dict.fromkeys(result["inputRequests"], answer),
    }


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_nobody_answers_the_question_of_another(mode: str) -> None:
    async def scenario() -> None:
        proxy = Proxy(make_upstream(), name="shop", mode=mode)
        asked = (await send(proxy, "ada"))["result"]
        assert asked["resultType"] == "input_required"
        refused = await send(proxy, "eve", **answers_to(asked))
        assert refused["error"]["code"] == -32602
        done = await send(proxy, "ada", **answers_to(asked))
        assert done["result"]["content"][0]["text"] == "Hello Ada"
        again = await send(proxy, "ada", **answers_to(asked))
        assert again["error"]["code"] == -32602
        await proxy.close()

    run(scenario())


def test_a_question_that_nobody_answers_ends_the_call_at_the_upstream() -> None:
    async def scenario() -> None:
        upstream = make_upstream()
        proxy = Proxy(upstream, mode=LEGACY, options=Options(state_lifetime=0.05))
        asked = (await send(proxy, None))["result"]
        assert len(proxy.forwarder.kept) == 1
        while len(proxy.forwarder.kept):
            await asyncio.sleep(0.01)
        late = await send(proxy, None, **answers_to(asked))
        assert late["error"]["code"] == -32602
        await proxy.close()

    run(scenario())


def test_only_so_many_calls_are_kept_for_one_caller() -> None:
    async def scenario() -> None:
        proxy = Proxy(make_upstream(), mode=LEGACY, max_waiting_calls=2)
        for _ in range(2):
            assert "result" in await send(proxy, "ada")
        refused = await send(proxy, "ada")
        assert "2 calls wait for an answer already" in refused["error"]["message"]
        assert "result" in await send(proxy, "bob")
        await proxy.close()

    run(scenario())


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_nobody_uses_the_task_of_another(mode: str) -> None:
    async def scenario() -> None:
        proxy = Proxy(make_upstream(), mode=mode)
        async with (
            Client(LocalCaller(proxy, "ada"), mode=mode) as ada,
            Client(LocalCaller(proxy, "eve"), mode=mode) as eve,
        ):
            task = await ada.start("bake")
            with pytest.raises(InvalidParamsError):
                await eve.task(task.id)
            with pytest.raises(InvalidParamsError):
                await eve.task(task.id.rpartition(".")[0])
            assert (await task.result()).text == "a cake"
        await proxy.close()

    run(scenario())


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_each_principal_has_its_own_credentials(mode: str, upstream_url: str) -> None:
    asked: list[str | None] = []

    async def find(principal: Principal | None) -> dict[str, str]:
        asked.append(None if principal is None else principal.id)
        return {"Authorization": f"Bearer of-{asked[-1]}"}

    async def scenario() -> None:
        proxy = Proxy(upstream_url, mode=mode, auth=find)
        async with (
            Client(LocalCaller(proxy, "ada")) as ada,
            Client(LocalCaller(proxy, "bob")) as bob,
        ):
            texts = await asyncio.gather(
                *(client.call("whoami") for client in (ada, bob) for _ in range(10))
            )
            assert [each.text for each in texts] == ["Bearer of-ada"] * 10 + ["Bearer of-bob"] * 10
        await proxy.close()

    run(scenario())
    assert sorted(map(str, asked)) == ["ada", "bob"]


def test_two_callers_of_a_legacy_process_get_their_own_questions() -> None:
    async def scenario() -> None:
        proxy = Proxy(UPSTREAM, mode=LEGACY)
        both = asyncio.Barrier(2)

        def answering(name: str) -> Any:
            async def elicit(_: Any) -> dict[str, str]:
                # Both questions are open at the same time.
                await both.wait()
                return {"name": name}

            return elicit

        async with (
            Client(proxy, mode=LEGACY, elicit=answering("Ada")) as ada,
            Client(proxy, mode=LEGACY, elicit=answering("Bob")) as bob,
        ):
            one, two = await asyncio.gather(ada.call("greet"), bob.call("greet"))
            assert (one.text, two.text) == ("Hello Ada", "Hello Bob")
        await proxy.close()

    run(scenario())


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_a_read_only_guard_holds_for_the_tools_of_the_upstream(mode: str) -> None:
    async def scenario() -> None:
        upstream = Server("shop")
        sold: list[str] = []

        @upstream.tool(annotations=READS)
        async def stock() -> str:
            return "7"

        @upstream.tool
        async def sell() -> str:
            sold.append("one")
            return "sold"

        proxy = Proxy(upstream, mode=mode)
        async with Client(LocalCaller(proxy, guard=Guard(read_only=True))) as client:
            assert [tool.name for tool in await client.list_tools()] == ["stock"]
            assert (await client.call("stock")).text == "7"
            with pytest.raises(InvalidParamsError, match="Unknown tool"):
                await client.call("sell")
            assert not sold

            @upstream.tool(annotations=READS)
            async def prices() -> str:
                return "1"

            while (await client.list_tools())[-1].name != "prices":
                await asyncio.sleep(0.01)
            assert (await client.call("prices")).text == "1"
        await proxy.close()

    run(scenario())


def test_credentials_are_those_of_the_principals_claims_and_scopes(upstream_url: str) -> None:
    def find(principal: Principal | None) -> dict[str, str]:
        assert principal is not None
        return {"Authorization": f"{principal.claims['tenant']} {sorted(principal.scopes)}"}

    async def scenario() -> None:
        proxy = Proxy(upstream_url, auth=find)
        for tenant, scopes in (("one", ["admin"]), ("two", ["admin"]), ("two", ["read"])):
            caller = Principal("ada", scopes, {"tenant": tenant})
            async with Client(LocalCaller(proxy, caller)) as client:
                assert (await client.call("whoami")).text == f"{tenant} {scopes}"
        await proxy.close()

    run(scenario())


def test_forty_slow_calls_of_one_principal_do_not_hold_another() -> None:
    started: list[None] = []
    upstream = Server("shop")

    @upstream.tool
    async def slow() -> str:
        started.append(None)
        await asyncio.Event().wait()
        return ""

    @upstream.tool
    async def stock() -> str:
        return "7"

    async def call(proxy: Proxy, principal: str, name: str) -> Any:
        async with Client(LocalCaller(proxy, principal), mode=LEGACY) as client:
            return (await client.call(name)).text

    async def scenario() -> None:
        # Nothing below ends because of a time limit.
        proxy = Proxy(upstream, mode=LEGACY, connect_timeout=10 * CAP)
        slow_calls = [asyncio.create_task(call(proxy, "ada", "slow")) for _ in range(40)]
        async with asyncio.timeout(CAP):
            while len(started) < 16:
                await asyncio.sleep(0)
            for _ in range(500):
                await asyncio.sleep(0)
            assert await call(proxy, "bob", "stock") == "7"
        assert len(started) == 16
        for each in slow_calls:
            each.cancel()
        await asyncio.gather(*slow_calls, return_exceptions=True)
        await proxy.close()

    run(scenario())
