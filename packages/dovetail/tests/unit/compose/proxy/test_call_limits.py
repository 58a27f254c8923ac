"""Time limits that share one timer."""

from __future__ import annotations

import asyncio

from dovetail.compose.proxy.call_limits import CallLimits
from tests.patience import pass_time
from tests.peers.scripted import run


async def limited(limits: CallLimits, seconds: float | None, *, is_over: asyncio.Event) -> str:
    limit = limits.start(seconds)
    try:
        await is_over.wait()
    except asyncio.CancelledError:
        return "expired" if limit.take_cancellation() else "cancelled"
    finally:
        limits.end(limit)
    return "done"


def test_each_call_ends_at_its_own_limit() -> None:
    async def scenario() -> None:
        limits, is_over = CallLimits(), asyncio.Event()
        calls = [
            asyncio.create_task(limited(limits, seconds, is_over=is_over))
            for seconds in (100.0, 10.0, None, 200.0)
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
        limits.close()

    run(scenario())


def test_limits_work_on_the_next_event_loop() -> None:
    limits = CallLimits()

    async def scenario(seconds: float) -> None:
        call = asyncio.create_task(limited(limits, seconds, is_over=asyncio.Event()))
        await asyncio.sleep(0)
        pass_time(250.0)
        assert await call == "expired"

    async def leave_a_timer() -> None:
        limits.end(limits.start(150.0))

    run(leave_a_timer())
    run(scenario(200.0))
