"""The lifespan: entered once, before the first need, and left by the task that entered it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail.runtime.engine import Lifespan
from tests.unit.talk import run, turn


class Story:
    """What a lifespan did."""

    def __init__(self, failures: int = 0, fails_on_exit: bool = False) -> None:
        self.lines: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failures = failures
        self.fails_on_exit = fails_on_exit
        self.tasks: list[object] = []

    @asynccontextmanager
    async def tell(self) -> AsyncIterator[str]:
        self.lines.append("enter")
        self.tasks.append(asyncio.current_task())
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise ConnectionError("no database")
        try:
            yield "state"
        finally:
            self.tasks.append(asyncio.current_task())
            self.lines.append("exit")
        if self.fails_on_exit:
            raise ConnectionError("lost on the way out")


def test_it_is_entered_once_and_its_value_is_the_state() -> None:
    async def scenario() -> None:
        story = Story()
        lifespan = Lifespan(story.tell)
        assert (lifespan.started, lifespan.state) == (False, None)
        story.gate.clear()
        waiting = [asyncio.create_task(lifespan.start()) for _ in range(3)]
        await turn()
        assert (lifespan.started, lifespan.state) == (False, None)
        story.gate.set()
        assert await asyncio.gather(*waiting) == ["state"] * 3
        assert (lifespan.started, lifespan.state) == (True, "state")
        assert await lifespan.start() == "state"
        assert story.lines == ["enter"]
        await lifespan.close()
        assert story.lines == ["enter", "exit"]
        assert (lifespan.started, lifespan.state) == (False, None)

    run(scenario())


def test_the_task_that_entered_is_the_one_that_leaves() -> None:
    async def scenario() -> None:
        story = Story()
        lifespan = Lifespan(story.tell)
        await asyncio.create_task(lifespan.start())
        await asyncio.create_task(lifespan.close())
        entered, left = story.tasks
        assert entered is left

    run(scenario())


def test_whoever_starts_it_may_go_before_it_has_started() -> None:
    async def scenario() -> None:
        story = Story()
        story.gate.clear()
        lifespan = Lifespan(story.tell)
        first = asyncio.create_task(lifespan.start())
        await turn()
        first.cancel()
        await turn()
        story.gate.set()
        assert await lifespan.start() == "state"
        assert story.lines == ["enter"]
        await lifespan.close()

    run(scenario())


def test_after_a_failure_the_next_start_tries_again() -> None:
    async def scenario() -> None:
        story = Story(failures=1)
        lifespan = Lifespan(story.tell)
        with pytest.raises(ConnectionError, match="no database"):
            await lifespan.start()
        await turn()
        assert (lifespan.started, lifespan.state) == (False, None)
        assert await lifespan.start() == "state"
        await lifespan.close()

    run(scenario())


def test_closing_what_never_started_or_is_closed_does_nothing() -> None:
    async def scenario() -> None:
        story = Story()
        lifespan = Lifespan(story.tell)
        await lifespan.close()
        await lifespan.start()
        await lifespan.close()
        await lifespan.close()
        assert story.lines == ["enter", "exit"]

    run(scenario())


def test_it_can_be_entered_again_after_closing() -> None:
    async def scenario() -> None:
        story = Story()
        lifespan = Lifespan(story.tell)
        for _ in range(2):
            assert await lifespan.start() == "state"
            await lifespan.close()
        assert story.lines == ["enter", "exit"] * 2

    run(scenario())


def test_a_failure_on_the_way_out_is_raised_by_close() -> None:
    async def scenario() -> None:
        lifespan = Lifespan(Story(fails_on_exit=True).tell)
        await lifespan.start()
        with pytest.raises(ConnectionError, match="lost on the way out"):
            await lifespan.close()

    run(scenario())


def test_it_ends_with_its_event_loop_and_starts_anew_in_the_next() -> None:
    story = Story()
    lifespan = Lifespan(story.tell)
    assert asyncio.run(lifespan.start()) == "state"
    assert story.lines == ["enter", "exit"]
    assert not lifespan.started
    assert asyncio.run(lifespan.start()) == "state"
    assert story.lines == ["enter", "exit"] * 2
