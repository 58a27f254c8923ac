"""Time limits that can be paused."""

from __future__ import annotations

import asyncio
import math

import pytest

from dovetail.runtime.deadlines import pause_time_limits, time_limit
from tests.patience import pass_time
from tests.peers.scripted import run


def test_a_limit_ends_its_block() -> None:
    async def use() -> None:
        with time_limit(0):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(use())


def test_infinity_is_no_limit() -> None:
    async def use() -> None:
        with time_limit(math.inf):
            pass_time(1e9)
            with pause_time_limits():
                await asyncio.sleep(0)

    run(use())


def test_limits_do_not_run_while_they_are_paused() -> None:
    async def use() -> None:
        with time_limit(1000), time_limit(500):
            with pause_time_limits():
                pass_time(2000)
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            with pytest.raises(TimeoutError), time_limit(100):
                pass_time(150)
                await asyncio.Event().wait()
            # What was left before the pause is left after it.
            pass_time(400)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(use())


def test_a_task_that_outlives_the_block_can_still_pause() -> None:
    async def use() -> None:
        go_on = asyncio.Event()

        async def later() -> None:
            await go_on.wait()
            with pause_time_limits():
                await asyncio.sleep(0)

        with time_limit(1000):
            task = asyncio.ensure_future(later())
        go_on.set()
        await task

    run(use())
