"""Tasks of several processes that share a backend, and what happens when one fails.

Two servers in one event loop are two processes. Each reaches the backend through a line that a test
can cut, hold up as if the process was paused, or keep from writing as if the disk was full.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.errors import StoreError
from dovetail.state import Backend, MemoryBackend, Published, SQLiteBackend
from dovetail.tasks import keeper as keeper_module
from dovetail.tasks import running as running_module
from dovetail.tasks import store as store_module
from tests.unit.talk import LEGACY, MODERN, Wire, answer, run
from tests.unit.tasks.test_keeper import FORM, KNOWS, YES, wait_for

AWAY = "The shared store of this server cannot be used now"


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are taken for dead soon, and look often."""
    for module in (running_module, store_module):
        monkeypatch.setattr(module, "LEASE", 0.2)
    for name in ("_RENEW", "_SEARCH", "_LOOK_AGAIN"):
        monkeypatch.setattr(keeper_module, name, 0.03)


class Line:
    """The way of one process to a backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.is_cut = False
        self.is_full = False
        self.is_deaf = False
        self.passes = asyncio.Event()
        self.passes.set()
        # The keys of writes that were tried.
        self.written: list[str] = []

    def pause(self) -> None:
        self.passes.clear()

    def resume(self) -> None:
        self.passes.set()

    async def check(self, *, writes: bool) -> None:
        await self.passes.wait()
        if self.is_cut or (writes and self.is_full):
            raise StoreError("the line is cut" if self.is_cut else "the disk is full")

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._backend, name)
        if name == "opened":

            @asynccontextmanager
            async def opened() -> AsyncIterator[Any]:
                async with self._backend.opened():
                    yield self

            return opened
        if name == "subscribe":
            return self._subscribe
        if name == "scan":
            return inner
        writes = name not in ("get", "read")

        async def do(*args: Any, **kwargs: Any) -> Any:
            if name == "set":
                self.written.append(args[0])
            await self.check(writes=writes)
            return await inner(*args, **kwargs)

        return do

    @asynccontextmanager
    async def _subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Published]]:
        async with self._backend.subscribe(*channels) as messages:
            yield self._filter(messages)

    async def _filter(self, messages: AsyncIterator[Published]) -> AsyncIterator[Published]:
        async for message in messages:
            await self.passes.wait()
            if not (self.is_deaf or self.is_cut):
                yield message


Backend.register(Line)


class Process:
    """A server with tasks, and what its tools have done."""

    def __init__(self, backend: Backend, *, is_old: bool = False, **options: Any) -> None:
        line: Any = Line(backend)
        self.line: Line = line
        usual: dict[str, Any] = {"state": line, "grace": 0.05}
        self.server = Server("press", options=Options(**{**usual, **options}))
        self.did: list[str] = []
        self.gate = asyncio.Event()

        @self.server.tool(task="optional")
        async def hold(ctx: Context) -> str:
            ctx.progress(1, 2, "half")
            await self.gate.wait()
            return "held"

        @self.server.tool(task="optional", resumable=not is_old)
        async def build(ctx: Context) -> str:
            await ctx.once("floor", lambda: self.did.append("floor"))
            await self.gate.wait()
            await ctx.once("roof", lambda: self.did.append("roof"))
            return "built"

        @self.server.tool(task="optional", resumable=True)
        async def ask(ctx: Context) -> str:
            return str((await ctx.elicit("Well?", FORM, key="well")).data)

        if not is_old:

            @self.server.tool(task="optional", resumable=True)
            async def paint(ctx: Context) -> str:
                await self.gate.wait()
                return "painted"

    async def respond(self, method: str, params: dict[str, Any]) -> Any:
        return await answer(self.server, method, params, revision=MODERN, capabilities=KNOWS)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        response = await self.respond(method, params)
        assert "result" in response, response
        return response["result"]

    async def make(self, tool: str) -> str:
        return str((await self.request("tools/call", {"name": tool}))["taskId"])

    async def get(self, id: str) -> Any:
        return await self.request("tasks/get", {"taskId": id})

    async def reply(self, id: str) -> None:
        await self.request("tasks/update", {"taskId": id, "inputResponses": {"well": YES}})

    async def until(self, id: str, status: str) -> Any:
        while (task := await self.get(id))["status"] != status:
            assert task["status"] not in ("completed", "failed", "cancelled"), task
            await asyncio.sleep(0.005)
        return task


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Makes the backend that the processes share."""
    if request.param == "redis":
        from dovetail_redis import RedisBackend  # noqa: PLC0415 - redis-py is optional

        return RedisBackend(str(request.getfixturevalue("cluster_url")))
    return MemoryBackend() if request.param == "memory" else SQLiteBackend(tmp_path / "t.db")


@asynccontextmanager
async def processes(*all: Process) -> AsyncIterator[None]:
    for process in all:
        await process.server.start()
    try:
        yield
    finally:
        for process in all:
            process.line.resume()
            process.line.is_cut = process.line.is_full = False
            await process.server.close()


# -- one process is paused or dead ------------------------------------------------------------


def test_a_paused_process_does_not_repeat_what_another_one_has_done(store: Any) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with processes(one, other):
            id = await one.make("build")
            await wait_for(lambda: one.did == ["floor"])
            # The step is recorded: the next look of the other process shows that.
            await wait_for(lambda: not one.server._tasks.keeper._live[id].is_saving)
            one.line.pause()
            one.gate.set()
            other.gate.set()
            await other.until(id, "completed")
            assert other.did == ["roof"]
            one.line.resume()
            await wait_for(lambda: not one.server._tasks.keeper._live)
            assert one.did == ["floor"]
            assert (await one.get(id))["status"] == "completed"

    run(scenario())


def test_a_process_that_was_away_keeps_what_nobody_has_taken(store: Any) -> None:
    async def scenario() -> None:
        one = Process(store)
        async with processes(one):
            built, held = await one.make("build"), await one.make("hold")
            await wait_for(lambda: one.did == ["floor"])
            tasks = one.server._tasks.keeper
            lease = tasks._worker.lease
            one.line.is_cut = True
            await asyncio.sleep(0.3)  # until the lease is over
            one.line.is_cut = False
            await wait_for(lambda: tasks._worker.lease is not lease)
            one.gate.set()
            for id in (built, held):
                await one.until(id, "completed")
            assert one.did == ["floor", "roof"]

    run(scenario())


def test_what_cannot_run_again_fails_and_says_why(store: Any) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with processes(one, other):
            id = await one.make("hold")
            one.line.pause()
            await wait_for(lambda: _has_status(other, id, "failed"))
            reason = (await other.get(id))["statusMessage"]
            assert reason == "The process that ran the task has ended before it."
            one.line.resume()
            await wait_for(lambda: not one.server._tasks.keeper._live)

    run(scenario())


def test_an_older_process_leaves_tasks_to_a_newer_one(store: Any) -> None:
    async def scenario() -> None:
        one, old = Process(store), Process(store, is_old=True)
        async with processes(one, old):
            painted, built = await one.make("paint"), await one.make("build")
            await wait_for(lambda: one.did == ["floor"])
            await one.server.close()
            await wait_for(lambda: len(old.server._tasks.keeper._left) == 1)
            for id in (painted, built):
                assert (await old.get(id))["status"] == "working"
            new = Process(store)
            new.gate.set()
            async with processes(new):
                for id in (painted, built):
                    await new.until(id, "completed")

    run(scenario())


def test_what_nobody_can_run_again_fails_after_a_while(
    store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_ABANDONED", "_LEFT"):
        monkeypatch.setattr(running_module, name, 0.1)

    async def scenario() -> None:
        one, old = Process(store), Process(store, is_old=True)
        async with processes(one, old):
            id = await one.make("paint")
            await one.server.close()
            await wait_for(lambda: _has_status(old, id, "failed"))
            reason = (await old.get(id))["statusMessage"]
            assert reason.endswith("no process that can run 'paint' again was found.")
            assert await old.line.get(old.server.engine.state.key("workers")) is not None
            await wait_for(lambda: not old.server._tasks.keeper._left)

    run(scenario())


async def _has_status(process: Process, id: str, status: str) -> bool:
    return bool((await process.get(id))["status"] == status)


# -- a backend that cannot be used ------------------------------------------------------------


def test_a_process_that_is_cut_off_does_not_say_what_it_cannot_know(store: Any) -> None:
    async def scenario() -> None:
        one = Process(store)
        async with processes(one):
            id = await one.make("hold")
            one.line.is_cut = True
            for method in ("tasks/get", "tasks/cancel"):
                failed = await one.respond(method, {"taskId": id})
                assert AWAY in failed["error"]["message"]
            one.line.is_cut = False
            assert (await one.get(id))["status"] == "working"

    run(scenario())


def test_rejected_starts_leave_nothing_that_is_tried_again(store: Any) -> None:
    async def scenario() -> None:
        one = Process(store)
        async with processes(one):
            await one.until(await _with_gate(one, "hold"), "completed")
            await wait_for(lambda: not one.server._tasks.keeper._live)
            one.line.is_cut = True
            for _ in range(50):
                failed = await one.respond("tools/call", {"name": "hold"})
                assert AWAY in failed["error"]["message"]
            one.line.written.clear()
            tasks = one.server._tasks.keeper
            assert not tasks._live and not tasks._unsaved
            await wait_for(lambda: not tasks._usable.is_set())
            assert one.line.written == []
            one.line.is_cut = False
            await wait_for(lambda: not tasks._rejected)
            key = one.server.engine.state.key("task", "")
            assert len([key async for key, _ in store.scan(key)]) == 1

    run(scenario())


async def _with_gate(process: Process, tool: str) -> str:
    process.gate.set()
    return await process.make(tool)


def test_a_task_that_ends_while_the_disk_is_full_waits(store: Any) -> None:
    async def scenario() -> None:
        one = Process(store)
        async with processes(one):
            ids = [await one.make("hold") for _ in range(3)]
            one.line.is_full = True
            one.gate.set()
            await wait_for(lambda: len(one.server._tasks.keeper._unsaved) == 3)
            for id in ids:
                assert (await one.get(id))["status"] == "working"
            one.line.is_full = False
            for id in ids:
                await one.until(id, "completed")
            assert not one.server._tasks.keeper._unsaved

    run(scenario())


def test_a_damaged_list_of_processes_is_written_again(store: Any) -> None:
    async def scenario() -> None:
        one = Process(store)
        async with store.opened():
            key = one.server.engine.state.key("workers")
            await store.set(key, b"no list")
            async with processes(one):
                await one.until(await _with_gate(one, "hold"), "completed")
                assert b"no list" not in (await store.get(key)).data

    run(scenario())


def test_a_damaged_row_is_skipped(store: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with store.opened():
            async with processes(one):
                damaged, cut, fine = [await one.make("paint") for _ in range(3)]
            state = one.server.engine.state
            await store.set(state.key("task", damaged), b"no row at all")
            key = state.key("task", cut)
            found = await store.get(key)
            await store.set(key, found.data.replace(b'{"method":', b'{"method"!', 1))
            other.gate.set()
            async with processes(other):
                await other.until(fine, "completed")
                unknown = await other.respond("tasks/get", {"taskId": damaged})
                assert unknown["error"]["code"] == -32602
                failed = await other.get(cut)
                assert failed["statusMessage"] == "The stored request of the task is damaged."

    run(scenario())
    assert "it is damaged" in caplog.text


# -- answers and changes ----------------------------------------------------------------------


def test_an_answer_counts_although_no_message_arrives(store: Any) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with processes(one, other):
            id = await one.make("ask")
            await other.until(id, "input_required")
            one.line.is_deaf = other.line.is_deaf = True
            await other.reply(id)
            for process in (one, other):
                assert (await process.get(id))["status"] != "input_required"
            task = await other.until(id, "completed")
            assert task["result"]["content"][0]["text"] == "{'n': 7}"

    run(scenario())


def test_an_answer_that_is_not_stored_is_not_acknowledged(store: Any) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with processes(one, other):
            id = await one.make("ask")
            await other.until(id, "input_required")
            other.line.is_full = True
            params = {"taskId": id, "inputResponses": {"well": YES}}
            failed = await other.respond("tasks/update", params)
            assert AWAY in failed["error"]["message"]
            assert (await one.get(id))["status"] == "input_required"
            other.line.is_full = False
            await other.reply(id)
            await one.until(id, "completed")

    run(scenario())


@pytest.mark.parametrize("is_deaf", [False, True])
def test_listeners_and_waiting_clients_of_another_process_hear_of_the_end(
    store: Any, is_deaf: bool
) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with processes(one, other):
            id = await one.make("hold")
            wire = await Wire(other.server, MODERN, KNOWS).open()
            wire.put("subscriptions/listen", {"notifications": {"taskIds": [id]}})
            await wire.until(lambda message: "acknowledged" in message.get("method", ""))
            here = await Wire(one.server, LEGACY).open()
            there = await Wire(other.server, LEGACY).open()
            made = await here.ask("tools/call", {"name": "hold", "arguments": {}, "task": {}})
            waiting = there.put("tasks/result", {"taskId": made["result"]["task"]["taskId"]})
            other.line.is_deaf = is_deaf
            one.gate.set()
            await wire.until(lambda message: message.get("params", {}).get("result"))
            assert (await there.response(waiting))["result"]["content"][0]["text"] == "held"
            for each in (wire, here, there):
                await each.connection.close()

    run(scenario())


def test_a_task_that_another_process_cancels_is_stopped_without_a_message(store: Any) -> None:
    async def scenario() -> None:
        one, other = Process(store), Process(store)
        async with processes(one, other):
            id = await one.make("hold")
            one.line.is_deaf = True
            await other.request("tasks/cancel", {"taskId": id})
            await wait_for(lambda: not one.server._tasks.keeper._live)
            for process in (one, other):
                assert (await process.get(id))["status"] == "cancelled"

    run(scenario())


# -- the end of a process ---------------------------------------------------------------------


def test_a_server_that_closes_lets_tasks_end_within_the_grace(store: Any) -> None:
    async def scenario() -> None:
        one = Process(store, grace=30.0)
        await one.server.start()
        id = await one.make("hold")
        asking = await one.make("ask")
        await one.until(asking, "input_required")
        closing = asyncio.create_task(one.server.close())
        await asyncio.sleep(0)
        one.gate.set()
        await closing
        other = Process(store)
        async with processes(other):
            assert (await other.get(id))["status"] == "completed"
            await other.until(asking, "input_required")

    run(scenario())


async def _has_no_workers(process: Process) -> bool:
    found = await process.line.get(process.server.engine.state.key("workers"))
    return bool(found.data == b"[]")


def test_an_idle_process_gives_its_lease_back(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper_module, "_IDLE", 0.0)

    async def scenario() -> None:
        one = Process(store)
        async with processes(one):
            await one.until(await _with_gate(one, "hold"), "completed")
            await wait_for(lambda: _has_no_workers(one))
            await one.until(await one.make("hold"), "completed")

    run(scenario())
