"""The circuit breaker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail.errors import ToolError, UsageError
from dovetail.middleware.upstream_calls import Breaker
from tests.unit.auth.test_rates import Clock
from tests.unit.talk import run


def state_of(breaker: Breaker) -> str:
    return breaker.state


async def use(breaker: Breaker, error: BaseException | None = None) -> None:
    async with breaker.guarding():
        if error is not None:
            raise error


async def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(OSError):
            await use(breaker, OSError())


def make(clock: Clock, **options: Any) -> Breaker:
    return Breaker("the shop", failures=3, rest=10, clock=clock, **options)


def test_it_opens_and_closes_after_a_successful_trial() -> None:
    async def play() -> None:
        clock = Clock()
        breaker = make(clock)
        assert state_of(breaker) == "closed"
        await fail(breaker, 3)
        assert state_of(breaker) == "open"
        with pytest.raises(ToolError, match="the shop is unavailable; try again in 10 s"):
            await use(breaker)
        clock.now += 10
        assert state_of(breaker) == "half-open"
        await fail(breaker)
        assert state_of(breaker) == "open"
        clock.now += 10
        await use(breaker)
        assert state_of(breaker) == "closed"
        # It has recovered for good: it takes as many failures as before.
        await fail(breaker, 2)
        assert state_of(breaker) == "closed"
        await fail(breaker)
        assert state_of(breaker) == "open"

    run(play())


def test_a_success_resets_the_count() -> None:
    async def play() -> None:
        breaker = make(Clock())
        for _ in range(5):
            await fail(breaker, 2)
            await use(breaker)
        assert state_of(breaker) == "closed"

    run(play())


def test_concurrent_trials_are_limited() -> None:
    async def play() -> None:
        clock = Clock()
        breaker = make(clock, trials=2)
        await fail(breaker, 3)
        clock.now += 10
        go = asyncio.Event()

        async def slow() -> None:
            async with breaker.guarding():
                await go.wait()

        tasks = [asyncio.create_task(slow()) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(ToolError):
            await use(breaker)
        go.set()
        await asyncio.gather(*tasks)
        assert state_of(breaker) == "closed"

    run(play())


def test_other_exceptions_do_not_count() -> None:
    async def play() -> None:
        breaker = Breaker("x", failures=1, counts=(OSError,))
        with pytest.raises(KeyError):
            await use(breaker, KeyError())
        assert state_of(breaker) == "closed"

    run(play())


def test_a_trial_that_is_cancelled_leaves_room_for_another() -> None:
    async def play() -> None:
        clock = Clock()
        breaker = make(clock)
        await fail(breaker, 3)
        clock.now += 10
        with pytest.raises(asyncio.CancelledError):
            await use(breaker, asyncio.CancelledError())
        assert state_of(breaker) == "half-open"
        await use(breaker)
        assert state_of(breaker) == "closed"

    run(play())


def test_calls_from_before_the_failure_change_nothing() -> None:
    async def play() -> None:
        clock = Clock()
        breaker = make(clock)
        go = asyncio.Event()

        async def slow() -> None:
            async with breaker.guarding():
                await go.wait()

        task = asyncio.create_task(slow())
        await asyncio.sleep(0)
        await fail(breaker, 3)
        go.set()
        await task
        assert state_of(breaker) == "open"

    run(play())


@pytest.mark.parametrize("options", [{"failures": 0}, {"trials": 0}, {"rest": -1}])
def test_invalid_options_are_rejected(options: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        Breaker("x", **options)  # type: ignore[arg-type]
