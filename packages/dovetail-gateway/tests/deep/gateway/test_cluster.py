"""A proxy in several processes: retries, changes and tasks reach the right one."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail import Client, Context, Options, Proxy, Server
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION, TASKS
from tests.peers.scripted import run

LEGACY, MODERN = "2025-11-25", "2026-07-28"
KEY = b"k" * 32
META: dict[str, Any] = {
    PROTOCOL_VERSION: MODERN,
    CLIENT_CAPABILITIES: {"elicitation": {"form": {}}},
}
ADA = {"action": "accept", "content": {"name": "Ada"}}
WITH_TASKS = {
    **META,
    CLIENT_CAPABILITIES: {**META[CLIENT_CAPABILITIES], "extensions": {TASKS: {}}},
}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}}


class Upstream:
    """A server whose tools ask, and what happened to their calls."""

    def __init__(self) -> None:
        self.server = Server("upstream", options=Options(state="memory://", task_poll=0.01))
        self.waits = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.server.tool(self.greet)
        self.server.tool(self.fail)
        self.server.tool(self.wait)
        self.server.tool(task="optional")(self.bake)

    async def bake(self, ctx: Context) -> str:
        """Ask in a task."""
        answer = await ctx.elicit("For whom?", NAME)
        return f"a cake for {answer.data and answer.data['name']}"

    async def greet(self, ctx: Context) -> str:
        """Ask twice."""
        names = []
        for question in ("First name?", "Last name?"):
            answer = await ctx.elicit(question, NAME)
            names.append(str(answer.data and answer.data["name"]))
            await ctx.progress(len(names))
        return f"Hello {' '.join(names)}"

    async def fail(self, ctx: Context) -> str:
        """Ask, then refuse."""
        await ctx.elicit("Sure?", NAME)
        raise ValueError

    async def wait(self, ctx: Context) -> str:
        """Ask, then wait until cancelled."""
        await ctx.elicit("Wait?", NAME)
        self.waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return ""


def make_process(upstream: Server, url: str, *, mounted: bool, mode: str) -> Server:
    options = Options(state=url, state_keys=[KEY])
    if not mounted:
        return Proxy(upstream, name="front", mode=mode, options=options)
    outer = Server("outer", options=options)
    outer.mount(Proxy(upstream, name="front", mode=mode), "front")
    return outer


@asynccontextmanager
async def two_processes(
    upstream: Server, url: str, *, mounted: bool = False, mode: str = LEGACY
) -> AsyncIterator[tuple[Server, Server]]:
    one = make_process(upstream, url, mounted=mounted, mode=mode)
    other = make_process(upstream, url, mounted=mounted, mode=mode)
    async with one.running(), other.running():
        yield one, other


async def call(
    server: Server, tool: str, asked: Any = None, send: Any = None, **meta: Any
) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": {}, "_meta": {**META, **meta}}
    if asked is not None:
        params["requestState"] = asked["result"]["requestState"]
        params["inputResponses"] = dict.fromkeys(asked["result"]["inputRequests"], ADA)
    return await request(server, "tools/call", params, send)


async def request(
    server: Server, method: str, params: dict[str, Any], send: Any = None, principal: str = "ada"
) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    raw = await server.handle(json.dumps(message), send, principal=principal)
    assert raw is not None
    found: dict[str, Any] = json.loads(raw)
    return found


def test_each_answer_may_reach_another_process(cluster_url: str) -> None:
    async def scenario(mounted: bool) -> None:
        upstream, tool = Upstream(), "front_greet" if mounted else "greet"
        progress: list[Any] = []
        async with two_processes(upstream.server, cluster_url, mounted=mounted) as (one, other):
            first = await call(one, tool, progressToken=6)
            second = await call(
                other, tool, first, lambda data: progress.append(json.loads(data)), progressToken=7
            )
            [question] = second["result"]["inputRequests"].values()
            assert question["params"]["message"] == "Last name?"
            assert [each["params"]["progressToken"] for each in progress] == [7]
            third = await call(other, tool, second)
            assert third["result"]["content"][0]["text"] == "Hello Ada Ada"
            again = await call(one, tool, second)
            assert "used before" in again["error"]["message"]

    run(scenario(False))
    run(scenario(True))


def test_an_error_of_the_upstream_reaches_the_other_process(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(Upstream().server, cluster_url) as (one, other):
            failed = await call(other, "fail", await call(one, "fail"))
            assert failed["result"]["isError"]

    run(scenario())


def test_a_process_that_has_ended_takes_its_calls_with_it(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(Upstream().server, cluster_url) as (one, other):
            first = await call(one, "greet")
            await one.close()
            refused = await call(other, "greet", first)
            assert refused["error"]["code"] == -32602
            assert "send the request again without it" in refused["error"]["message"]

    run(scenario())


def test_a_caller_that_gives_up_ends_the_call_in_the_other_process(cluster_url: str) -> None:
    async def scenario() -> None:
        upstream = Upstream()
        async with two_processes(upstream.server, cluster_url) as (one, other):
            first = await call(one, "wait")
            waiting = asyncio.create_task(call(other, "wait", first))
            await upstream.waits.wait()
            waiting.cancel()
            await upstream.cancelled.wait()

    run(scenario())


@pytest.mark.parametrize("mounted", [False, True])
def test_any_process_serves_a_task(cluster_url: str, mounted: bool) -> None:
    async def scenario() -> None:
        async with two_processes(
            Upstream().server, cluster_url, mounted=mounted, mode=MODERN
        ) as processes:
            one, other = processes
            name = "front_bake" if mounted else "bake"
            # The capabilities of the upstream are known once it is connected.
            for each in processes:
                await request(each, "tools/list", {"_meta": WITH_TASKS})
            created = await request(
                one, "tools/call", {"name": name, "arguments": {}, "_meta": WITH_TASKS}
            )
            asked = {"taskId": created["result"]["taskId"], "_meta": WITH_TASKS}
            shown: dict[str, Any] = {"inputRequests": {}}
            while not shown.get("inputRequests"):
                for each in processes:
                    shown = (await request(each, "tasks/get", asked))["result"]
            stranger = await request(other, "tasks/get", asked, principal="eve")
            assert stranger["error"]["code"] == -32602
            answers = dict.fromkeys(shown["inputRequests"], ADA)
            updated = await request(other, "tasks/update", {**asked, "inputResponses": answers})
            assert "error" not in updated
            while shown["status"] != "completed":
                shown = (await request(other, "tasks/get", asked))["result"]
                assert shown["taskId"] == asked["taskId"]
            assert shown["result"]["content"][0]["text"] == "a cake for Ada"
            again = (await request(one, "tasks/get", asked))["result"]
            assert again["result"]["content"] == shown["result"]["content"]

    run(scenario())


def test_a_change_of_the_upstream_is_announced_once(cluster_url: str) -> None:
    async def scenario() -> None:
        upstream = Upstream()
        upstream.server.resource("note://1", name="one")(lambda: "one")
        async with two_processes(upstream.server, cluster_url) as (one, other):
            changes: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

            async def listen(server: Server, name: str, **wanted: Any) -> None:
                async with (
                    Client(server, mode=MODERN) as client,
                    client.subscribe(**wanted) as heard,
                ):
                    changes.put_nowait((name, "ready"))
                    async for change in heard:
                        changes.put_nowait((name, change.kind))

            listeners = [
                asyncio.create_task(listen(one, "one", tools=True, uris=["note://1"])),
                asyncio.create_task(listen(other, "other", tools=True, uris=["note://1"])),
            ]
            expected = {("one", "ready"), ("other", "ready")}
            assert {await changes.get() for _ in listeners} == expected
            upstream.server.tool("new")(lambda: "new")
            upstream.server.resource_updated("note://1")
            names, kinds = ("one", "other"), ("tools", "resource")
            expected = {(name, kind) for name in names for kind in kinds}
            assert {await changes.get() for _ in expected} == expected
            # What the other process tells arrives before this.
            for sender, receiver in ((one, other), (other, one)):
                arrived = asyncio.Event()
                assert sender.engine.processes is not None and receiver.engine.processes is not None
                receiver.engine.processes.on_message("last", lambda *_, it=arrived: it.set())
                await sender.engine.processes.publish_now("last", b"")
                await arrived.wait()
            assert changes.empty()
            for listener in listeners:
                listener.cancel()
            await asyncio.wait(listeners)

    run(scenario())


def test_a_change_reaches_processes_that_are_not_connected(cluster_url: str) -> None:
    async def scenario() -> None:
        upstream = Upstream()
        async with two_processes(upstream.server, cluster_url) as (one, other):
            heard = asyncio.Event()
            other.engine.bus.subscribe(lambda change: heard.set())
            await request(one, "tools/list", {"_meta": META})
            while not heard.is_set():
                # Until the subscription at the upstream is open.
                upstream.server.tool(f"new_{secrets.token_hex(4)}")(lambda: "new")
                await asyncio.sleep(0.01)

    run(scenario())
