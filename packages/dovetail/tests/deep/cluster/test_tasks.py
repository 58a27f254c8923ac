"""Tasks in a cluster: any process serves any task, and others finish those of a dead process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import redis.asyncio as redis_py
from click.testing import CliRunner

from dovetail import Context, Options, Server
from dovetail.cli.tasks_command import tasks
from dovetail.core.principal import Principal
from dovetail.runtime.processes import Processes
from dovetail.spec.keys import TASKS
from dovetail.state import Lease
from dovetail.wire import codec
from tests.cluster.redis_server import RedisServer, running_redis
from tests.cluster.shop import STATE_KEY
from tests.unit.talk import LEGACY, MODERN, Wire, answer, run

KNOWS: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}
FORM: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
YES = {"action": "accept", "content": {"n": 7}}


class Process:
    """A server of a cluster; two of them in one event loop are two processes."""

    def __init__(self, url: str, **options: Any) -> None:
        usual: dict[str, Any] = {"state": url, "grace": 1.0}
        usual["state_keys"] = [STATE_KEY]
        self.server = Server("press", options=Options(**{**usual, **options}))
        self.did: list[str] = []
        self.gate = asyncio.Event()
        server = self.server

        @server.tool(task="optional")
        async def hold(what: str, ctx: Context) -> str:
            self.did.append(what)
            try:
                await self.gate.wait()
            finally:
                self.did.append(f"{what} cancelled={ctx.cancelled}")
            return f"held {what}"

        @server.tool(task="optional", resumable=True)
        async def build(what: str, ctx: Context) -> str:
            await ctx.once("floor", lambda: self.did.append(f"floor {what}"))
            await self.gate.wait()
            await ctx.once("roof", lambda: self.did.append(f"roof {what}"))
            self.did.append(f"last {what}")
            return f"built {what}"

        @server.tool(task="optional", resumable=True)
        async def ask(what: str, ctx: Context) -> str:
            answered = await ctx.elicit("Well?", FORM, key="well")
            return f"{what} {answered.data}"

        @server.tool(task="optional")
        async def report(what: str, ctx: Context) -> str:
            ctx.progress(1, 2, what)
            await self.gate.wait()
            return what

    @property
    def processes(self) -> Processes:
        assert self.server.engine.processes is not None
        return self.server.engine.processes

    @property
    def running(self) -> set[str]:
        return set(self.server._tasks.keeper._live)

    async def respond(self, method: str, params: dict[str, Any], who: str | None = None) -> Any:
        return await answer(
            self.server, method, params, revision=MODERN, capabilities=KNOWS, principal=who
        )

    async def request(self, method: str, params: dict[str, Any], who: str | None = None) -> Any:
        response = await self.respond(method, params, who)
        assert "result" in response, response
        return response["result"]

    async def make(self, tool: str, what: str = "x", who: str | None = None) -> str:
        params = {"name": tool, "arguments": {"what": what}}
        return str((await self.request("tools/call", params, who))["taskId"])

    async def get(self, id: str) -> Any:
        return await self.request("tasks/get", {"taskId": id})

    async def until(self, id: str, *statuses: str) -> Any:
        while True:
            # Redis may be away.
            response = await self.respond("tasks/get", {"taskId": id})
            if "result" in response and response["result"]["status"] in statuses:
                return response["result"]
            await asyncio.sleep(0.01)

    def stop_reporting(self) -> None:
        """Count as dead soon, and go on running."""
        backend = self.server.engine.state.backend
        self._reports = asyncio.Event()
        renew, acquire = backend.renew, backend.acquire

        async def renew_later(lease: Lease, ttl: float) -> bool:
            await self._reports.wait()
            return await renew(lease, ttl)

        async def acquire_later(name: str, holder: str, ttl: float) -> Lease | None:
            await self._reports.wait()
            return await acquire(name, holder, ttl)

        backend.renew, backend.acquire = renew_later, acquire_later  # type: ignore[method-assign]

    def report_again(self) -> None:
        """Notice what has happened."""
        self._reports.set()


@asynccontextmanager
async def two_processes(url: str, **options: Any) -> AsyncIterator[tuple[Process, Process]]:
    one, other = Process(url, **options), Process(url, **options)
    await one.server.start()
    await other.server.start()
    try:
        yield one, other
    finally:
        await one.server.close()
        await other.server.close()


async def wait_for(holds: Any) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def listen(process: Process, id: str) -> Wire:
    wire = await Wire(process.server, MODERN, KNOWS).open()
    wire.put("subscriptions/listen", {"notifications": {"taskIds": [id]}})
    await wire.until(lambda message: "acknowledged" in message.get("method", ""))
    return wire


def statuses(wire: Wire) -> list[str]:
    return [
        message["params"]["status"]
        for message in wire.sent
        if message.get("method") == "notifications/tasks"
    ]


def test_status_result_answer_and_cancellation_from_any_process(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            id = await one.make("ask")
            task = await other.until(id, "input_required")
            assert list(task["inputRequests"]) == ["well"]
            await other.request("tasks/update", {"taskId": id, "inputResponses": {"well": YES}})
            task = await other.until(id, "completed")
            assert task["result"]["content"][0]["text"] == "x {'n': 7}"

            id = await one.make("hold")
            await other.request("tasks/cancel", {"taskId": id})
            assert (await other.get(id))["status"] == "cancelled"
            await wait_for(lambda: one.did == ["x", "x cancelled=True"])
            assert (await one.get(id))["status"] == "cancelled"

    run(scenario())


def test_listeners_of_another_process_are_told_once(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            id, unrelated = await one.make("ask"), await one.make("report")
            await other.until(id, "input_required")
            wire, stranger = await listen(other, id), await listen(other, unrelated)
            await one.request("tasks/update", {"taskId": id, "inputResponses": {"well": YES}})
            await wire.until(lambda message: message.get("params", {}).get("result"))
            assert statuses(wire) == ["working", "completed"] or statuses(wire) == ["completed"]
            one.gate.set()
            message = await stranger.until(lambda message: message.get("params", {}).get("result"))
            assert message["params"]["result"]["content"][0]["text"] == "x"
            await wire.connection.close()
            await stranger.connection.close()

    run(scenario())


def test_the_status_message_is_seen_from_another_process(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            id = await one.make("report", "halfway")
            while (await other.get(id)).get("statusMessage") != "halfway":
                await asyncio.sleep(0.01)

    run(scenario())


def test_a_legacy_client_waits_for_the_result_at_another_process(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            here = await Wire(one.server, LEGACY, {"elicitation": {}}).open()
            there = await Wire(other.server, LEGACY, {"elicitation": {}}).open()
            params = {"name": "ask", "arguments": {"what": "x"}, "task": {}}
            made = await here.ask("tools/call", params)
            id = {"taskId": made["result"]["task"]["taskId"]}
            waiting = there.put("tasks/result", id)
            question = await there.asked("elicitation/create")
            there.reply(question["id"], YES)
            response = await there.response(waiting)
            assert response["result"]["content"][0]["text"] == "x {'n': 7}"
            await here.connection.close()
            await there.connection.close()

    run(scenario())


def test_a_refusal_at_another_process_reaches_the_task(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            here = await Wire(one.server, LEGACY, {"elicitation": {}}).open()
            there = await Wire(other.server, LEGACY, {"elicitation": {}}).open()
            params = {"name": "ask", "arguments": {"what": "x"}, "task": {}}
            made = await here.ask("tools/call", params)
            waiting = there.put("tasks/result", {"taskId": made["result"]["task"]["taskId"]})
            question = await there.asked("elicitation/create")
            refusal = {"code": -1, "message": "not now"}
            response = {"jsonrpc": "2.0", "id": question["id"], "error": refusal}
            there.connection.receive(codec.encode(response))
            response = await there.response(waiting)
            text = response["result"]["content"][0]["text"]
            assert "The client refused elicitation/create: not now" in text
            await here.connection.close()
            await there.connection.close()

    run(scenario())


def test_pages_and_limits_span_processes_and_owners_are_apart(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url, tasks_per_owner=3, page_size=2) as processes:
            wires = [await Wire(process.server, LEGACY).open() for process in processes]
            ada = Principal("ada")
            ids = []
            for place in (0, 1, 0):
                wires[place].connection.principal = ada
                params = {"name": "hold", "arguments": {"what": "x"}, "task": {}}
                made = await wires[place].ask("tools/call", params)
                ids.append(made["result"]["task"]["taskId"])
            refused = await wires[1].ask("tools/call", params)
            assert "the limit is 3 per caller" in refused["error"]["message"]
            first = (await wires[1].ask("tasks/list"))["result"]
            rest = (await wires[0].ask("tasks/list", {"cursor": first["nextCursor"]}))["result"]
            assert [task["taskId"] for task in first["tasks"] + rest["tasks"]] == ids
            stranger = await processes[1].respond("tasks/get", {"taskId": ids[0]}, "bob")
            assert stranger["error"]["code"] == -32602
            for wire in wires:
                await wire.connection.close()

    run(scenario())


def test_a_process_that_was_taken_for_dead_stops_its_runs(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            built, held = await one.make("build"), await one.make("hold")
            await wait_for(lambda: len(one.did) == 2)
            wire = await listen(other, held)
            one.stop_reporting()
            await wait_for(lambda: built in other.running)
            # It comes back before its next step, which it does not do.
            one.gate.set()
            one.report_again()
            await wait_for(lambda: not one.running)
            assert "roof x" not in one.did and "last x" not in one.did
            failed = await other.until(held, "failed")
            assert "has ended before it" in failed["statusMessage"]
            await wire.until(lambda message: message.get("params", {}).get("error"))
            assert statuses(wire) == ["failed"]
            assert (await one.get(held))["status"] == "failed"
            other.gate.set()
            await other.until(built, "completed")
            assert other.did == ["roof x", "last x"]
            assert other.processes.taken_over == 2
            await wire.connection.close()

    run(scenario())


def test_a_waiting_client_gets_the_result_of_the_process_that_takes_over(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            here, there = [await Wire(each.server, LEGACY).open() for each in (one, other)]
            params = {"name": "build", "arguments": {"what": "x"}, "task": {}}
            made = await here.ask("tools/call", params)
            waiting = there.put("tasks/result", {"taskId": made["result"]["task"]["taskId"]})
            await wait_for(lambda: one.did == ["floor x"])
            one.stop_reporting()
            other.gate.set()
            response = await there.response(waiting)
            assert response["result"]["content"][0]["text"] == "built x"
            await here.connection.close()
            await there.connection.close()

    run(scenario())


def test_a_process_that_closes_hands_its_tasks_over(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            id = await one.make("build")
            await wait_for(lambda: one.did == ["floor x"])
            wire = await Wire(other.server, MODERN, KNOWS).open()
            other.gate.set()
            await one.server.close()
            await other.until(id, "completed")
            assert other.did == ["roof x", "last x"]
            await wire.connection.close()

    run(scenario())


def test_an_answered_question_is_not_pending_at_any_process(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            id = await one.make("ask")
            await other.until(id, "input_required")
            # The process that runs the task does not hear of the answer yet.
            hears = asyncio.Event()
            look = one.server._tasks.keeper._look_at

            async def look_later(run: Any) -> None:
                await hears.wait()
                await look(run)

            one.server._tasks.keeper._look_at = look_later  # type: ignore[method-assign]
            await other.request("tasks/update", {"taskId": id, "inputResponses": {"well": YES}})
            for process in (one, other):
                assert (await process.get(id))["status"] == "working"
            hears.set()
            await other.until(id, "completed")

    run(scenario())


def test_answers_for_a_dead_process_reach_the_one_that_takes_over(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_processes(cluster_url) as (one, other):
            id = await one.make("ask")
            await other.until(id, "input_required")
            # It does not hear of the answer any more.
            for loop in one.server._tasks.keeper._loops:
                loop.cancel()
            await other.request("tasks/update", {"taskId": id, "inputResponses": {"well": YES}})
            task = await other.until(id, "completed")
            assert task["result"]["content"][0]["text"] == "x {'n': 7}"

    run(scenario())


def test_every_key_of_a_task_expires(redis_server: RedisServer) -> None:
    async def scenario() -> None:
        async with two_processes(f"{redis_server.url}?name=expiry") as (one, other):
            wire = await Wire(one.server, LEGACY).open()
            wire.connection.principal = Principal("ada")
            params = {"name": "ask", "arguments": {"what": "x"}, "task": {}}
            await wire.ask("tools/call", params)
            id = await one.make("ask")
            await other.until(id, "input_required")
            await other.request("tasks/update", {"taskId": id, "inputResponses": {"well": YES}})
            client = redis_py.from_url(redis_server.url)
            names = await client.keys("dovetail:expiry/*task*")
            assert any(id.encode() in name for name in names)
            for name in names:
                # -1: it does not expire. It may be gone already, which is -2.
                assert await client.pttl(name) != -1, name
            await client.aclose()
            await wire.connection.close()

    run(scenario())


# -- a store that cannot be used ------------------------------------------------------------------


def test_what_runs_while_redis_is_away_is_saved_when_it_returns(redis_server: RedisServer) -> None:
    async def scenario() -> None:
        async with two_processes(f"{redis_server.url}?name=paused") as (one, other):
            id = await one.make("build")
            await wait_for(lambda: one.did == ["floor x"])
            redis_server.pause()
            try:
                await wait_for(lambda: one.processes.problem and other.processes.problem)
                refused = await one.respond(
                    "tools/call", {"name": "hold", "arguments": {"what": "y"}}
                )
                assert "shared store of this server cannot be used" in refused["error"]["message"]
                one.gate.set()
                # Nobody knows any more who runs the task.
                failed = await other.respond("tasks/get", {"taskId": id})
                assert "shared store of this server cannot be used" in failed["error"]["message"]
                assert one.did == ["floor x"]
            finally:
                redis_server.resume()
            await wait_for(lambda: not one.processes.problem and not other.processes.problem)
            await one.until(id, "completed")
            # All processes were missing for a moment: nobody may have taken over the task.
            assert one.did == ["floor x", "roof x", "last x"] and other.did == []

    run(scenario())


def test_a_task_whose_row_has_vanished_ends(tmp_path: Path) -> None:
    async def scenario(redis: RedisServer) -> None:
        async with two_processes(redis.url) as (one, other):
            held, built = await one.make("hold"), await one.make("build", "y")
            await wait_for(lambda: len(one.did) == 2)
            wire = await Wire(other.server, LEGACY).open()
            redis.kill()
            redis.start()
            await wait_for(lambda: not one.running)
            assert "x cancelled=True" in one.did and "last y" not in one.did
            for id in (held, built):
                gone = await other.respond("tasks/get", {"taskId": id})
                assert gone["error"]["code"] == -32602
            other.gate.set()
            await one.until(await other.make("hold", "z"), "completed")
            await wire.connection.close()

    with running_redis(tmp_path) as redis:
        run(scenario(redis))


@pytest.mark.parametrize(
    ("spoil", "repair"),
    [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ],
    ids=["out of memory", "no replicas", "read-only"],
)
def test_a_redis_that_cannot_write_refuses_tasks_and_keeps_what_ran(
    tmp_path: Path, spoil: str, repair: str
) -> None:
    async def scenario(redis: RedisServer) -> None:
        async with two_processes(redis.url) as (one, other):
            id = await one.make("build")
            await wait_for(lambda: one.did == ["floor x"])
            redis.command(*spoil.split())
            refused = await one.respond("tools/call", {"name": "hold", "arguments": {"what": "y"}})
            assert "shared store of this server cannot be used" in refused["error"]["message"]
            one.gate.set()
            assert (await other.get(id))["status"] == "working"
            # The step is not done, or at least not over before it is recorded.
            assert "last x" not in one.did
            redis.command(*repair.split())
            await wait_for(lambda: not one.processes.problem and not other.processes.problem)
            await one.until(id, "completed")
            assert one.did == ["floor x", "roof x", "last x"]

    with running_redis(tmp_path) as redis:
        run(scenario(redis))


def test_a_server_starts_without_redis_and_has_tasks_when_it_comes(tmp_path: Path) -> None:
    async def scenario(redis: RedisServer) -> None:
        redis.kill()
        one = Process(redis.url)
        one.gate.set()
        await one.server.start()
        refused = await one.respond("tools/call", {"name": "hold", "arguments": {"what": "y"}})
        assert "shared store" in refused["error"]["message"]
        redis.start()
        await wait_for(lambda: one.processes.problem is None)
        await one.until(await one.make("hold"), "completed")
        await one.server.close()

    with running_redis(tmp_path) as redis:
        run(scenario(redis))


def test_the_command_line_lists_and_cancels_tasks_of_a_cluster(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    url = f"{redis_server.url}?name=operator"
    file = tmp_path / "press.py"
    file.write_text(
        "from dovetail import Options, Server\n"
        f"options = Options(state={url!r}, state_keys=[{STATE_KEY!r}])\n"
        "server = Server('press', options=options)\n",
        "utf-8",
    )

    def command(*words: str) -> str:
        outcome = CliRunner().invoke(tasks, [str(file), *words])
        assert outcome.exit_code == 0, outcome.output
        return outcome.output

    async def scenario() -> None:
        async with two_processes(url) as (one, _):
            id = await one.make("hold")
            listed = await asyncio.to_thread(command)
            assert id[:12] in listed and "hold" in listed and "working" in listed
            await asyncio.to_thread(command, "--cancel", id)
            await wait_for(lambda: one.did == ["x", "x cancelled=True"])
            message = (await one.get(id))["statusMessage"]
            assert message == "The task was cancelled by the operator of the server."

    run(scenario())
