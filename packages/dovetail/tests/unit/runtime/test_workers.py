"""Threads for functions that may block: few, reused, and no job outlives its caller's wish."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.runtime.workers import WorkerPool
from tests.patience import CAP
from tests.unit.talk import run

name = contextvars.ContextVar("name", default="nobody")


def test_a_function_runs_in_a_thread_of_ours_and_its_value_comes_back() -> None:
    async def scenario() -> None:
        thread = await WorkerPool(2).run(threading.current_thread)
        assert thread is not threading.current_thread()
        assert thread.name == "dovetail-worker"
        assert thread.daemon

    run(scenario())


def test_the_callers_context_goes_along() -> None:
    async def scenario() -> None:
        pool = WorkerPool(1)
        name.set("alice")
        assert await pool.run(name.get) == "alice"
        await pool.run(lambda: name.set("changed"))
        assert name.get() == "alice"
        name.set("bob")
        assert await pool.run(name.get) == "bob"

    run(scenario())


def test_functions_run_at_the_same_time_up_to_the_size_and_then_in_turn() -> None:
    async def scenario() -> None:
        pool = WorkerPool(3)
        together = threading.Barrier(3)
        await asyncio.gather(*(pool.run(lambda: together.wait(CAP)) for _ in range(3)))
        release = threading.Event()
        busy = [pool.run(lambda: release.wait(CAP)) for _ in range(3)]
        fourth = pool.run(threading.get_ident)
        release.set()
        await asyncio.gather(*busy)
        assert await fourth
        assert pool._threads == 3

    run(scenario())


def test_an_idle_thread_is_used_again() -> None:
    async def scenario() -> None:
        pool = WorkerPool(8)
        threads = {await pool.run(threading.get_ident) for _ in range(20)}
        assert len(threads) == 1

    run(scenario())


def fail(error: BaseException) -> Callable[[], Any]:
    def function() -> Any:
        raise error

    return function


def test_an_exception_comes_back_as_it_was_raised() -> None:
    async def scenario() -> None:
        pool = WorkerPool(1)
        with pytest.raises(ZeroDivisionError, match="by nothing"):
            await pool.run(fail(ZeroDivisionError("by nothing")))
        assert await pool.run(lambda: "still there") == "still there"

    run(scenario())


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        GeneratorExit(),
        StopIteration(),
    ],
    ids=repr,
)
def test_what_would_stop_the_loop_or_hang_the_caller_is_a_plain_failure(
    error: BaseException,
) -> None:
    async def scenario() -> None:
        with pytest.raises(RuntimeError, match=rf"the handler raised {type(error).__name__}"):
            await WorkerPool(1).run(fail(error))

    run(scenario())


def test_a_job_that_was_cancelled_in_the_queue_never_runs() -> None:
    async def scenario() -> None:
        pool = WorkerPool(1)
        ran: list[str] = []
        release = threading.Event()
        first = pool.run(lambda: release.wait(CAP))
        second = pool.run(lambda: ran.append("second"))
        second.cancel()
        third = pool.run(lambda: ran.append("third"))
        release.set()
        await first
        await third
        assert ran == ["third"]
        assert pool._idle >= 1

    run(scenario())


def test_a_value_that_comes_after_the_cancellation_is_dropped() -> None:
    async def scenario() -> None:
        pool = WorkerPool(1)
        started, release = threading.Event(), threading.Event()

        def work() -> str:
            started.set()
            release.wait(CAP)
            return "late"

        future = pool.run(work)
        await asyncio.to_thread(started.wait, CAP)
        future.cancel()
        release.set()
        assert await pool.run(lambda: "next") == "next"
        assert future.cancelled()

    run(scenario())


def test_a_thread_whose_loop_is_gone_goes_on_for_the_next_one() -> None:
    pool = WorkerPool(1)
    release, done = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(CAP)
        done.set()

    async def leave() -> None:
        pool.run(work)

    async def come() -> str:
        return await pool.run(lambda: "next")

    asyncio.run(leave())
    release.set()
    assert done.wait(CAP)
    assert run(come()) == "next"
