"""Tasks of a server: run outside of any request, taken over, forgotten."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.spec.keys import TASKS
from dovetail.stores.tasks import TaskStore
from dovetail.tasks import keeper as module
from dovetail.tasks.keeper import TaskKeeper
from dovetail.tasks.rows import LocalTaskRows
from tests.cluster.shop import STATE_KEY
from tests.patience import CAP
from tests.unit.stores.task_stores import KINDS
from tests.unit.talk import LEGACY, MODERN, Wire, answer, run

KNOWS: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}
FORM: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
YES = {"action": "accept", "content": {"n": 7}}


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at again and again is looked at often."""
    for name in ("_BUSY_TICK", "_IDLE_TICK", "_SWEEP", "_CLUSTER_TICK"):
        monkeypatch.setattr(module, name, 0.01)


class Yard:
    """A server with tasks, and what its tools have done."""

    def __init__(self, store: str, **options: Any) -> None:
        place = "state" if store.startswith("redis:") else "task_store"
        usual: dict[str, Any] = {place: store, "grace": 1.0}
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

    @property
    def keeper(self) -> TaskKeeper:
        return self.server._tasks

    @property
    def opened(self) -> TaskStore:
        rows = self.keeper._rows
        assert isinstance(rows, LocalTaskRows)
        return rows.opened

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


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "redis":
        return str(request.getfixturevalue("cluster_url"))
    return "memory" if request.param == "memory" else str(tmp_path / "t.sqlite3")


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
        first = Yard(str(tmp_path / "t.sqlite3"))
        await first.server.start()
        id = await first.make("build", who="ada")
        await wait_for(lambda: first.did == ["floor x"])
        await first.server.close()
        second = Yard(str(tmp_path / "t.sqlite3"))
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
        for attempt in range(module._MAX_ATTEMPTS):
            yard = Yard(str(tmp_path / "t.sqlite3"))
            await yard.server.start()
            id = id or await yard.make("build")
            assert (await yard.get(id))["status"] == "working", attempt
            await yard.server.close()
        yard = Yard(str(tmp_path / "t.sqlite3"))
        task = await yard.until(id, "failed")
        assert task["statusMessage"] == "5 processes have run the task and ended before it."
        await yard.server.close()

    run(scenario())


def test_tasks_of_an_event_loop_that_has_ended_are_over() -> None:
    yard = Yard("memory")

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
        first = Yard(str(tmp_path / "t.sqlite3"))
        await first.server.start()
        ids = [await first.make("ask", what) for what in ("a", "b")]
        for id in ids:
            await first.until(id, "input_required")
        await first.server.close()
        second = Yard(str(tmp_path / "t.sqlite3"))
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


def test_a_look_that_fails_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        yard = Yard(str(tmp_path / "t.sqlite3"))
        await yard.server.start()
        failed = asyncio.Event()

        def break_down(now: float) -> list[str]:
            failed.set()
            raise OSError("the disk is full")

        monkeypatch.setattr(yard.opened, "expire", break_down)
        await failed.wait()
        monkeypatch.undo()
        yard.gate.set()
        await yard.until(await yard.make("hold"), "completed")
        await yard.server.close()

    with caplog.at_level(logging.ERROR, "dovetail"):
        run(scenario())
    assert "the disk is full" in caplog.text


def test_a_row_that_cannot_be_kept_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        yard = Yard(str(tmp_path / "t.sqlite3"))
        await yard.server.start()

        def break_down(row: Any) -> bool:
            raise OSError("the disk is full")

        monkeypatch.setattr(yard.opened, "save", break_down)
        id = await yard.make("ask_both")
        await yard.until(id, "input_required")
        await wait_for(lambda: "could not be kept" in caplog.text)
        monkeypatch.undo()
        await yard.server.close()

    with caplog.at_level(logging.ERROR, "dovetail"):
        run(scenario())


def test_whoever_does_not_run_a_task_can_only_look_at_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        yard = Yard(str(tmp_path / "t.sqlite3"))
        await yard.server.start()
        keeper = yard.keeper
        assert keeper.take("elsewhere", "k")
        keeper.give_back("elsewhere", "k")
        keeper.refuse("elsewhere", "k", ValueError())
        keeper._collected("elsewhere", b"{}")
        await yard.server.close()
        assert await keeper.save(None) is False  # type: ignore[arg-type]
        keeper.save_soon(None)  # type: ignore[arg-type]

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
        yard = Yard("memory")
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
        first = Yard(str(tmp_path / "t.sqlite3"))
        first.server.tools.add(plain, task="optional")
        await first.server.start()
        id = await first.make("plain")
        await first.until(id, "input_required")
        await first.server.close()
        second = Yard(str(tmp_path / "t.sqlite3"))
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
        one, other = Yard(str(tmp_path / "t.sqlite3")), Yard(str(tmp_path / "t.sqlite3"))
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


def test_of_several_that_come_first_one_opens_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = Server("late", options=Options(task_store=str(tmp_path / "t.sqlite3")))
        await server.start()

        @server.tool(task="required")
        async def dig() -> str:
            return "dug"

        # The server runs already: nobody has opened a store yet.
        keeper = server._tasks
        await asyncio.gather(*(keeper._start() for _ in range(3)))
        assert len(list((tmp_path / "t.sqlite3-workers").iterdir())) == 1
        await keeper.close()

    run(scenario())


def test_a_server_closes_while_it_takes_over_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        first = Yard(str(tmp_path / "t.sqlite3"))
        await first.server.start()
        id = await first.make("build")
        second = Yard(str(tmp_path / "t.sqlite3"))
        await second.server.start()
        saving = asyncio.Event()

        async def save(row: Any) -> bool:
            saving.set()
            await asyncio.Event().wait()
            return True

        monkeypatch.setattr(second.keeper._rows, "save", save)
        await first.server.close()
        await saving.wait()
        await second.server.close()
        assert not second.keeper._live
        third = Yard(str(tmp_path / "t.sqlite3"))
        third.gate.set()
        await third.until(id, "completed")
        await third.server.close()

    run(scenario())
