"""Changes reach a client on its loop, each once per turn."""

from __future__ import annotations

import asyncio
import threading

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import StoreError
from dovetail.runtime.bus import MemoryBus
from dovetail.runtime.change_feed import ChangeFeed
from dovetail.tasks.views import Status, TaskView
from tests.unit.fakes import settle
from tests.unit.talk import run

TOOLS, PROMPTS = ChangeEvent(ChangeKind.TOOLS), ChangeEvent(ChangeKind.PROMPTS)


def test_equal_changes_of_one_turn_are_delivered_once() -> None:
    async def scenario() -> None:
        bus: MemoryBus[ChangeEvent] = MemoryBus()
        heard: list[ChangeEvent] = []
        feed = ChangeFeed(bus, lambda change: True, heard.append)
        for change in (TOOLS, PROMPTS, TOOLS):
            bus.publish(change)
        assert heard == []
        await settle()
        assert heard == [TOOLS, PROMPTS]
        bus.publish(TOOLS)
        await settle()
        assert heard == [TOOLS, PROMPTS, TOOLS]
        feed.close()

    run(scenario())


def test_changes_that_nobody_wants_are_not_delivered() -> None:
    async def scenario() -> None:
        bus: MemoryBus[ChangeEvent] = MemoryBus()
        heard: list[ChangeEvent] = []
        ChangeFeed(bus, lambda change: change is TOOLS, heard.append)
        bus.publish(PROMPTS)
        bus.publish(TOOLS)
        await settle()
        assert heard == [TOOLS]

    run(scenario())


def test_a_change_from_another_thread_is_delivered_on_the_loop() -> None:
    async def scenario() -> None:
        bus: MemoryBus[ChangeEvent] = MemoryBus()
        heard: asyncio.Queue[int] = asyncio.Queue()
        ChangeFeed(bus, lambda change: True, lambda _: heard.put_nowait(threading.get_ident()))
        await asyncio.to_thread(bus.publish, TOOLS)
        assert await heard.get() == threading.get_ident()

    run(scenario())


def test_a_closed_feed_delivers_nothing_more() -> None:
    async def scenario() -> None:
        bus: MemoryBus[ChangeEvent] = MemoryBus()
        heard: list[ChangeEvent] = []
        feed = ChangeFeed(bus, lambda change: True, heard.append)
        bus.publish(TOOLS)
        feed.close()
        bus.publish(PROMPTS)
        await settle()
        assert heard == []

    run(scenario())


def test_a_feed_whose_loop_has_ended_leaves_the_bus() -> None:
    bus: MemoryBus[ChangeEvent] = MemoryBus()
    asked: list[ChangeEvent] = []

    def wants(change: ChangeEvent) -> bool:
        asked.append(change)
        return True

    async def scenario() -> None:
        ChangeFeed(bus, wants, lambda _: None)

    run(scenario())
    bus.publish(TOOLS)
    bus.publish(TOOLS)
    assert asked == []


def test_a_task_of_another_process_is_read_for_those_that_want_it() -> None:
    async def scenario() -> None:
        bus: MemoryBus[ChangeEvent] = MemoryBus()
        heard: list[ChangeEvent] = []
        loads: list[str] = []
        whole = TaskView("a", Status.COMPLETED, 1.0, 2.0, None, 500, result=b"1")

        async def load() -> TaskView:
            loads.append("load")
            return whole

        async def fail() -> TaskView:
            raise StoreError("away")

        feed = ChangeFeed(bus, lambda change: change.uri == "a", heard.append)
        now, before = (
            TaskView("a", Status.WORKING, 1.0, updated, None, 500) for updated in (2.0, 1.0)
        )
        bus.publish(ChangeEvent(ChangeKind.ITEM, "b", now, load))
        bus.publish(ChangeEvent(ChangeKind.ITEM, "a", now, fail))
        # It has changed since: that change is published too.
        bus.publish(ChangeEvent(ChangeKind.ITEM, "a", before, load))
        bus.publish(ChangeEvent(ChangeKind.ITEM, "a", now, load))
        await settle()
        assert heard == [ChangeEvent(ChangeKind.ITEM, "a", whole)]
        assert loads == ["load", "load"]
        bus.publish(ChangeEvent(ChangeKind.ITEM, "a", now, load))
        feed.close()
        await settle()
        assert len(heard) == 1

    run(scenario())


def test_a_change_of_any_resource_is_delivered_for_each_that_the_client_wants() -> None:
    async def scenario() -> None:
        bus: MemoryBus[ChangeEvent] = MemoryBus()
        heard: list[ChangeEvent] = []
        others: list[ChangeEvent] = []
        ChangeFeed(bus, lambda change: change.uri in ("a", "b"), heard.append, lambda: ["a", "b"])
        ChangeFeed(bus, lambda change: True, others.append)
        bus.publish(ChangeEvent(ChangeKind.RESOURCE))
        await settle()
        assert [each.uri for each in heard] == ["a", "b"]
        assert others == []

    run(scenario())
