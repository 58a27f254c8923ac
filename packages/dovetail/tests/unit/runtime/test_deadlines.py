"""Time limits that share one timer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dovetail.runtime.deadlines import TaskDeadline, current_deadlines
from tests.patience import CAP, pass_time
from tests.peers.scripted import run


async def limited(seconds: float | None, is_over: asyncio.Event) -> str:
    try:
        with TaskDeadline(seconds):
            await is_over.wait()
    except TimeoutError:
        return "expired"
    except asyncio.CancelledError:
        return "cancelled"
    return "done"


def test_each_block_ends_at_its_own_limit() -> None:
    async def scenario() -> None:
        is_over = asyncio.Event()
        calls = [
            asyncio.create_task(limited(seconds, is_over)) for seconds in (100.0, 10.0, None, 200.0)
        ]
        await asyncio.sleep(0)
        pass_time(15.0)
        assert await calls[1] == "expired"
        pass_time(100.0)
        assert await calls[0] == "expired"
        calls[3].cancel()
        assert await calls[3] == "cancelled"
        is_over.set()
        assert await calls[2] == "done"

    run(scenario())


def test_a_cancellation_from_outside_is_not_a_timeout() -> None:
    async def scenario() -> None:
        call = asyncio.create_task(limited(10.0, asyncio.Event()))
        await asyncio.sleep(0)
        pass_time(15.0)
        # Both in one iteration of the event loop.
        asyncio.get_running_loop().call_soon(call.cancel)
        assert await call == "cancelled"

    run(scenario())


def test_an_expired_limit_leaves_the_task_usable() -> None:
    async def scenario() -> None:
        with pytest.raises(TimeoutError), TaskDeadline(0):
            await asyncio.Event().wait()
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0
        await asyncio.sleep(0)

    run(scenario())


def test_an_earlier_time_moves_the_timer() -> None:
    async def scenario() -> None:
        limit = TaskDeadline(20.0)
        with pytest.raises(TimeoutError), limit:
            limit.move(None)
            pass_time(25.0)
            await asyncio.sleep(0)
            limit.move(10.0)
            pass_time(15.0)
            await asyncio.Event().wait()

    run(scenario())


def test_limits_work_on_the_next_event_loop() -> None:
    async def leave_a_timer() -> None:
        with TaskDeadline(150.0):
            pass

    async def scenario() -> None:
        call = asyncio.create_task(limited(200.0, asyncio.Event()))
        await asyncio.sleep(0)
        pass_time(250.0)
        assert await call == "expired"

    run(leave_a_timer())
    run(scenario())


def test_event_loops_do_not_disturb_each_other() -> None:
    """Two of one thread, used in turns, and two of two threads."""
    one, other = asyncio.new_event_loop(), asyncio.new_event_loop()

    async def begin() -> asyncio.Task[str]:
        call = asyncio.ensure_future(limited(100.0, asyncio.Event()))
        await asyncio.sleep(0)
        return call

    async def finish(call: asyncio.Task[str]) -> str:
        pass_time(150.0)
        return await asyncio.wait_for(call, CAP + 150.0)

    calls = [(loop, loop.run_until_complete(begin())) for loop in (one, other)]
    assert [loop.run_until_complete(finish(call)) for loop, call in calls] == ["expired"] * 2
    one.close()
    other.close()

    async def own() -> object:
        return current_deadlines()

    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(asyncio.run(own())))
    thread.start()
    thread.join()
    assert found[0] is not run(own())
