"""Tasks of a server: run outside of any request, taken over, forgotten."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.spec.keys import RELATED_TASK, TASKS
from dovetail.tasks import keeper as module
from dovetail.tasks import running
from tests.cluster.shop import STATE_KEY
from tests.patience import CAP
from tests.unit.talk import LEGACY, MODERN, Wire, answer, run

KNOWS: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}
FORM: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
YES = {"action": "accept", "content": {"n": 7}}


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at again and again is looked at often."""
    for name in ("_RENEW", "_SEARCH", "_LOOK_AGAIN"):
        monkeypatch.setattr(module, name, 0.01)


class Yard:
    """A server with tasks, and what its tools have done."""

    def __init__(self, store: str | None, **options: Any) -> None:
        usual: dict[str, Any] = {"state": store, "grace": 0.05}
        usual["state_keys"] = [STATE_KEY]
        self.server = Server("yard", options=Options(**{**usual, **options}))
        self.did: list[str] = []
        self.gate = asyncio.Event()
        server = self.server

        @server.tool(task="optional")
        async def hold(what: str, ctx: Context) -> str:
            try:
                await self.gate.wait()
            finally:
                self.did.append(f"{what} cancelled={ctx.cancelled}")
            return f"held {what}"

        @server.tool(task="optional", resumable=True)
        async def build(what: str, ctx: Context) -> str:
            await ctx.once("floor", lambda: self.did.append(f"floor {what}"))
            await self.gate.wait()
            return f"built {what}"

        @server.tool(task="optional", resumable=True)
        async def ask(what: str, ctx: Context) -> str:
            self.did.append(f"run {what}")
            first = await ctx.elicit("First?", FORM, key="first")
            second = await ctx.elicit("Second?", FORM, key="second")
            return f"{what} {first.data} {second.data}"

        @server.tool(task="optional")
        def stubborn(what: str, ctx: Context) -> str:
            self.did.append(what)
            return "from a thread"

        @server.tool(task="optional", resumable=True)
        async def ask_both(what: str, ctx: Context) -> str:
            self.did.append(f"run {what}")
            both = await asyncio.gather(
                ctx.elicit("First?", FORM, key="first"), ctx.elicit("Second?", FORM, key="second")
            )
            return f"{what} {[each.data for each in both]}"

    async def request(self, method: str, params: dict[str, Any], who: str | None = None) -> Any:
        response = await answer(
            self.server, method, params, revision=MODERN, capabilities=KNOWS, principal=who
        )
        assert "result" in response, response
        return response["result"]

    async def make(self, tool: str, what: str = "x", who: str | None = None) -> str:
        params = {"name": tool, "arguments": {"what": what}}
        return str((await self.request("tools/call", params, who))["taskId"])

    async def get(self, id: str) -> Any:
        return await self.request("tasks/get", {"taskId": id})

    async def reply(self, id: str, **answers: Any) -> None:
        await self.request("tasks/update", {"taskId": id, "inputResponses": answers})

    async def until(self, id: str, *statuses: str) -> Any:
        while True:
            task = await self.get(id)
            if task["status"] in statuses:
                return task
            await asyncio.sleep(0.005)


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        return str(request.getfixturevalue("cluster_url"))
    return "memory://" if request.param == "memory" else in_file(tmp_path)


def in_file(folder: Path) -> str:
    return f"sqlite:///{folder}/t.sqlite3"


async def wait_for(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    while True:
        outcome = holds()
        if outcome is True or (not isinstance(outcome, bool) and await outcome):
            return
        await asyncio.sleep(0.005)


def test_a_task_outlives_the_connection_that_made_it(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        wire = await Wire(yard.server, MODERN, KNOWS).open()
        made = await wire.call("hold", {"what": "x"})
        await wire.connection.close()
        yard.gate.set()
        task = await yard.until(made["result"]["taskId"], "completed")
        assert task["result"]["content"][0]["text"] == "held x"
        await yard.server.close()

    run(scenario())


def test_a_plain_function_runs_as_a_task_in_a_thread(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        task = await yard.until(await yard.make("stubborn"), "completed")
        assert task["result"]["content"][0]["text"] == "from a thread"
        await yard.server.close()

    run(scenario())


def test_a_cancelled_task_is_stopped_for_real(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        id = await yard.make("hold")
        await asyncio.sleep(0)
        await yard.request("tasks/cancel", {"taskId": id})
        assert (await yard.get(id))["status"] == "cancelled"
        await wait_for(lambda: yard.did == ["x cancelled=True"])
        await yard.server.close()

    run(scenario())


def test_a_server_that_closes_says_what_it_did_not_finish(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        await yard.server.start()
        id = await yard.make("hold")
        await yard.server.close()
        await yard.server.close()
        task = await yard.get(id)
        assert task["status"] == "failed"
        assert task["error"]["message"].startswith("The server was shut down")
        await yard.server.close()

    run(scenario())


def test_what_may_be_run_again_is_with_what_it_has_done(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Yard(in_file(tmp_path))
        await first.server.start()
        id = await first.make("build", who="ada")
        await wait_for(lambda: first.did == ["floor x"])
        await first.server.close()
        second = Yard(in_file(tmp_path))
        second.gate.set()
        await second.server.start()

        async def has_ended() -> bool:
            task = await second.request("tasks/get", {"taskId": id}, "ada")
            return bool(task["status"] == "completed")

        await wait_for(has_ended)
        assert second.did == []
        await second.server.close()

    run(scenario())


def test_a_task_under_which_processes_keep_ending_fails(tmp_path: Path) -> None:
    async def scenario() -> None:
        id = ""
        for attempt in range(running._MAX_ATTEMPTS):
            yard = Yard(in_file(tmp_path))
            await yard.server.start()
            id = id or await yard.make("build")
            assert (await yard.get(id))["status"] == "working", attempt
            await yard.server.close()
        yard = Yard(in_file(tmp_path))
        task = await yard.until(id, "failed")
        assert task["statusMessage"] == "5 processes have run the task and ended before it."
        await yard.server.close()

    run(scenario())


def test_tasks_of_an_event_loop_that_has_ended_are_over() -> None:
    yard = Yard("memory://")

    async def begin() -> str:
        return await yard.make("hold")

    id = run(begin())

    async def look() -> Any:
        return await yard.until(id, "failed")

    # The end of a loop is a shutdown if it lets the server have a last word.
    assert run(look())["statusMessage"] in (
        "The server was shut down before the task had ended.",
        "The process that ran the task has ended before it.",
    )


def test_a_resumable_task_that_waits_survives_its_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = Yard(in_file(tmp_path))
        await first.server.start()
        ids = [await first.make("ask", what) for what in ("a", "b")]
        for id in ids:
            await first.until(id, "input_required")
        await first.server.close()
        second = Yard(in_file(tmp_path))
        # The first request to the new process: the function has not asked again yet.
        await second.reply(ids[1], first=YES)
        assert list((await second.until(ids[1], "input_required"))["inputRequests"]) == ["second"]
        await second.reply(ids[1], second=YES)
        task = await second.until(ids[1], "completed")
        assert task["result"]["content"][0]["text"] == "b {'n': 7} {'n': 7}"
        await second.request("tasks/cancel", {"taskId": ids[0]})
        assert (await second.get(ids[0]))["status"] == "cancelled"
        await second.server.close()

    run(scenario())


def test_what_is_over_is_forgotten_whatever_it_does(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store, task_ttl=0.05)
        await yard.server.start()
        id = await yard.make("hold")
        await wait_for(lambda: bool(yard.did))
        response = await answer(
            yard.server, "tasks/get", {"taskId": id}, revision=MODERN, capabilities=KNOWS
        )
        assert response["error"]["code"] == -32602
        await yard.server.close()

    run(scenario())


def test_no_more_run_at_a_time_than_there_are_slots(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store, task_concurrency=1)
        await yard.server.start()
        asking = await yard.make("ask_both", "a")
        await yard.until(asking, "input_required")
        # One that waits for its client holds no slot.
        first, second = await yard.make("hold", "b"), await yard.make("stubborn", "c")
        # One that goes on does not stand in line again.
        await yard.reply(asking, first=YES, second=YES)
        await yard.until(asking, "completed")
        assert (await yard.get(second))["status"] == "working"
        assert yard.did == ["run a"]
        yard.gate.set()
        for id in (first, second):
            await yard.until(id, "completed")
        await yard.server.close()

    run(scenario())


def test_what_a_tool_promises_of_its_time_holds_in_a_task_too(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)

        @yard.server.tool(task="optional", timeout=0.02)
        async def slow(what: str) -> str:
            await asyncio.Event().wait()
            return what

        @yard.server.tool(task="optional", blocking=False)
        def quick(what: str) -> str:
            return what

        @yard.server.tool(task="optional")
        async def leave(what: str) -> str:
            raise SystemExit(what)

        @yard.server.resource("notes://a")
        async def notes() -> str:
            return "milk"

        @yard.server.tool(task="optional")
        async def read(what: str, ctx: Context) -> str:
            [found] = await ctx.read_resource("notes://a")
            return str(found)

        async def text_of(tool: str) -> str:
            task = await yard.until(await yard.make(tool), "completed")
            return str(task["result"]["content"][0]["text"])

        assert "Timed out" in await text_of("slow")
        assert await text_of("quick") == "x"
        assert "Internal error" in await text_of("leave")
        assert "milk" in await text_of("read")
        await yard.server.close()

    run(scenario())


def test_a_thread_that_is_cancelled_can_see_it() -> None:
    async def scenario() -> None:
        yard = Yard("memory://")
        seen = threading.Event()
        began = threading.Event()

        @yard.server.tool(task="optional")
        def dig(what: str, ctx: Context) -> str:
            began.set()
            while not ctx.cancelled:
                threading.Event().wait(0.001)
            seen.set()
            return what

        id = await yard.make("dig")
        await asyncio.to_thread(began.wait, CAP)
        await yard.request("tasks/cancel", {"taskId": id})
        assert await asyncio.to_thread(seen.wait, CAP)
        await yard.server.close()

    run(scenario())


def test_a_task_that_waits_when_the_server_closes_fails_if_it_cannot_run_again(
    tmp_path: Path,
) -> None:
    async def plain(what: str, ctx: Context) -> str:
        return str((await ctx.elicit("Well?", FORM)).data)

    async def scenario() -> None:
        first = Yard(in_file(tmp_path))
        first.server.tools.add(plain, task="optional")
        await first.server.start()
        id = await first.make("plain")
        await first.until(id, "input_required")
        await first.server.close()
        second = Yard(in_file(tmp_path))
        task = await second.until(id, "failed")
        assert task["statusMessage"].startswith("The server was shut down")
        await second.server.close()

    run(scenario())


def test_subscribers_see_nothing_after_the_end_of_a_task_that_waited(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        await yard.server.start()
        id, later = await yard.make("ask"), await yard.make("ask")
        for each in (id, later):
            await yard.until(each, "input_required")
        wire = await Wire(yard.server, MODERN, KNOWS).open()
        wire.put("subscriptions/listen", {"notifications": {"taskIds": [id, later]}})
        await wire.until(lambda message: "acknowledged" in message.get("method", ""))
        for each in (id, later):
            await yard.request("tasks/cancel", {"taskId": each})

        def told() -> list[tuple[str, str]]:
            return [
                (message["params"]["taskId"], message["params"]["status"])
                for message in wire.sent
                if message.get("method") == "notifications/tasks"
            ]

        await wait_for(lambda: (later, "cancelled") in told())
        assert told() == [(id, "cancelled"), (later, "cancelled")]
        await wire.connection.close()
        await yard.server.close()

    run(scenario())


def test_a_task_of_another_process_is_waited_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        one, other = Yard(in_file(tmp_path)), Yard(in_file(tmp_path))
        await one.server.start()
        await other.server.start()
        here = await Wire(one.server, LEGACY, {"elicitation": {}}).open()
        there = await Wire(other.server, LEGACY, {"elicitation": {}}).open()
        params = {"name": "ask", "arguments": {"what": "x"}, "task": {}}
        made = await here.ask("tools/call", params)
        id = {"taskId": made["result"]["task"]["taskId"]}
        waiting = there.put("tasks/result", id)
        for _ in range(2):
            question = await there.asked("elicitation/create")
            there.reply(question["id"], YES)
        response = await there.response(waiting)
        assert response["result"]["content"][0]["text"] == "x {'n': 7} {'n': 7}"
        await here.connection.close()
        await there.connection.close()
        await one.server.close()
        await other.server.close()

    run(scenario())


def test_tasks_are_in_a_file_if_nobody_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def scenario() -> None:
        first = Yard(None)
        first.gate.set()
        id = await first.make("hold")
        await first.until(id, "completed")
        await first.server.close()
        assert (tmp_path / "dovetail" / "yard.state.sqlite3").exists()
        second = Yard(None)
        assert (await second.get(id))["status"] == "completed"
        await second.server.close()

    run(scenario())


def test_tasks_are_in_memory_if_the_usual_file_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder", "utf-8")

    async def scenario() -> None:
        yard = Yard(None)
        yard.gate.set()
        id = await yard.make("hold")
        await yard.until(id, "completed")
        # They are still there if the server starts again.
        await yard.server.close()
        await yard.server.start()
        assert (await yard.get(id))["status"] == "completed"
        await yard.server.close()

    run(scenario())
    assert caplog.text.count("kept in memory and lost with this process") == 1


def test_progress_is_in_the_status_message(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        told, reported = asyncio.Event(), 0

        @yard.server.tool(task="optional")
        async def walk(what: str, ctx: Context) -> str:
            nonlocal reported
            for reported in range(1, 100):
                ctx.progress(reported, 100, None)
            told.set()
            await yard.gate.wait()
            await asyncio.to_thread(ctx.progress, 100, None, "m" * 1000)
            return what

        id = await yard.make("walk")
        await told.wait()
        assert (await yard.get(id))["statusMessage"] == "99 of 100"
        yard.gate.set()
        assert "statusMessage" not in await yard.until(id, "completed")
        await yard.server.close()

    run(scenario())


def test_a_result_that_is_too_large_fails_the_task(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store, max_task_result_bytes=20)
        task = await yard.until(await yard.make("stubborn"), "failed")
        assert "too large to be kept" in task["statusMessage"]
        assert "the limit is 20" in task["error"]["message"]
        await yard.server.close()

    run(scenario())


def test_several_first_calls_open_the_state_once(store: str) -> None:
    async def scenario() -> None:
        yard = Yard(store)
        yard.gate.set()
        for id in await asyncio.gather(*(yard.make("hold") for _ in range(5))):
            await yard.until(id, "completed")
        assert len(yard.server._tasks.keeper._loops) == (1 if store == "memory://" else 2)
        await yard.server.close()

    run(scenario())


def test_log_messages_of_a_task_reach_its_session_with_the_task_that_they_belong_to() -> None:
    async def scenario() -> None:
        yard = Yard("memory://")

        @yard.server.tool(task="optional")
        async def report(what: str, ctx: Context) -> str:
            await ctx.log.warning(what)
            await ctx.progress(1)
            return what

        wire = await Wire(yard.server, LEGACY).open()
        params = {"name": "report", "arguments": {"what": "late"}, "task": {}}
        made = await wire.ask("tools/call", params)
        sent = await wire.until(lambda message: message.get("method") == "notifications/message")
        assert sent["params"]["data"] == "late"
        id = made["result"]["task"]["taskId"]
        assert sent["params"]["_meta"][RELATED_TASK] == {"taskId": id}
        await wire.connection.close()
        await yard.server.close()

    run(scenario())
