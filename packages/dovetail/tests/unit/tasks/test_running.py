"""Tasks that this process runs, and what becomes of those that it must not run any more."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail import Context, Options, Server
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.spec.keys import TASKS
from dovetail.tasks.views import TaskView
from tests.unit.stores.task_stores import make_row
from tests.unit.talk import MODERN, answer, run

KNOWS: dict[str, Any] = {"extensions": {TASKS: {}}}


class Building:
    """A server with one tool, which takes two steps."""

    def __init__(self, **options: Any) -> None:
        self.server = Server("building", options=Options(grace=1.0, **options))
        self.did: list[str] = []
        self.has_stopped = asyncio.Event()
        self.gate = asyncio.Event()

        @self.server.tool(task="required", resumable=True)
        async def build(ctx: Context) -> str:
            try:
                await self.gate.wait()
                await ctx.once("roof", lambda: self.did.append("roof"))
                self.did.append("done")
                return "x" * 1000
            finally:
                self.has_stopped.set()

    async def begin(self) -> str:
        params = {"name": "build"}
        made = await answer(self.server, "tools/call", params, revision=MODERN, capabilities=KNOWS)
        return str(made["result"]["taskId"])


def test_a_result_that_is_too_large_fails_the_task() -> None:
    async def scenario() -> None:
        building = Building(task_store="memory", max_task_result_bytes=100)
        heard: list[ChangeEvent] = []
        building.server._bus.subscribe(heard.append)
        building.gate.set()
        id = await building.begin()
        while not heard:
            await asyncio.sleep(0)
        [change] = heard
        assert (change.what, change.uri) == (ChangeKind.ITEM, id)
        assert isinstance(change.item, TaskView)
        assert "too large to be kept" in (change.item.message or "")
        await building.server.close()

    run(scenario())


def test_without_a_cluster_only_runs_are_published() -> None:
    async def scenario() -> None:
        building = Building(task_store="memory")
        heard: list[ChangeEvent] = []
        building.server._bus.subscribe(heard.append)
        tasks = building.server._tasks
        assert not tasks.notifies
        tasks._publish_row(make_row())
        assert heard == []
        await building.server.close()

    run(scenario())
