from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import pytest

from dovetail.runtime.eager_tasks import EagerTasks, resume_coroutine
from tests.patience import CAP

T = TypeVar("T")

COLOUR: ContextVar[str] = ContextVar("COLOUR", default="none")


def outside_of_tasks(act: Callable[[EagerTasks], T]) -> T:
    """Call `act` on a running loop and outside of any task, as a transport does."""

    async def main() -> T:
        loop = asyncio.get_running_loop()
        eager_tasks = EagerTasks(loop)
        done: asyncio.Future[T] = loop.create_future()

        def go() -> None:
            try:
                done.set_result(act(eager_tasks))
            except BaseException as error:  # noqa: BLE001 - the test sees it
                done.set_exception(error)

        loop.call_soon(go)
        try:
            outcome = await done
            if isinstance(outcome, asyncio.Task):
                await asyncio.wait([outcome])
            return outcome
        finally:
            eager_tasks.close()

    return asyncio.run(main())


def step(coroutine: Coroutine[Any, Any, T]) -> T | Coroutine[Any, Any, T]:
    """The value of a coroutine that needs one step; what is left of one that needs more."""
    try:
        awaited = coroutine.send(None)
    except StopIteration as returned:
        value: T = returned.value
        return value

    async def rest() -> T:
        value: T = await resume_coroutine(coroutine, awaited, coroutine.send, coroutine.throw)
        return value

    return rest()


def test_what_needs_no_waiting_is_there_at_once() -> None:
    assert outside_of_tasks(lambda eager_tasks: eager_tasks.begin(lambda: 5)) == 5


def test_the_first_step_has_a_task_and_the_rest_has_the_same() -> None:
    seen: list[Any] = []

    async def handler(gate: asyncio.Future[None]) -> str:
        seen.append(asyncio.current_task())
        async with asyncio.timeout(CAP):
            await gate
        seen.append(asyncio.current_task())
        return "done"

    def act(eager_tasks: EagerTasks) -> Any:
        gate = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(gate.set_result, None)
        return eager_tasks.begin(lambda: step(handler(gate)))

    task = outside_of_tasks(act)
    assert isinstance(task, asyncio.Task)
    assert task.result() == "done"
    assert seen == [task, task]


# From Python 3.12 on each call has a task of its own.
if sys.version_info < (3, 12):

    def test_a_call_that_leaves_no_trace_leaves_its_task_to_the_next() -> None:
        def ids(eager_tasks: EagerTasks) -> set[int]:
            return {eager_tasks.begin(lambda: id(asyncio.current_task())) for _ in range(5)}  # type: ignore[misc]

        assert len(outside_of_tasks(ids)) == 1

    @pytest.mark.parametrize("trace", ["held", "known weakly", "cancelled", "called back"])
    def test_a_task_with_a_trace_on_it_is_not_used_again(trace: str) -> None:
        held: list[Any] = []
        weakly: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        told: list[Any] = []

        def leave() -> None:
            task = asyncio.current_task()
            assert task is not None
            if trace == "held":
                held.append(task)
            elif trace == "known weakly":
                weakly[task] = 1
            elif trace == "cancelled":
                task.cancel()
            else:
                task.add_done_callback(told.append)

        def act(eager_tasks: EagerTasks) -> bool:
            eager_tasks.begin(leave)
            before = eager_tasks._idle
            return before is None

        assert outside_of_tasks(act)
        gc.collect()
        if trace == "called back":
            assert len(told) == 1


def test_what_a_call_sets_in_its_context_is_its_own() -> None:
    def act(eager_tasks: EagerTasks) -> list[str]:
        def paint() -> str:
            before = COLOUR.get()
            COLOUR.set("red")
            return before

        return [eager_tasks.begin(paint), eager_tasks.begin(paint), COLOUR.get()]  # type: ignore[list-item]

    assert outside_of_tasks(act) == ["none", "none", "none"]


def test_the_rest_goes_on_in_the_context_of_the_first_step() -> None:
    async def handler(gate: asyncio.Future[None]) -> str:
        COLOUR.set("blue")
        await gate
        return COLOUR.get()

    def act(eager_tasks: EagerTasks) -> Any:
        gate = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(gate.set_result, None)
        return eager_tasks.begin(lambda: step(handler(gate)))

    assert outside_of_tasks(act).result() == "blue"


def test_an_error_of_the_first_step_is_the_callers() -> None:
    def fail() -> None:
        raise ValueError("no")

    def act(eager_tasks: EagerTasks) -> str:
        with pytest.raises(ValueError, match="no"):
            eager_tasks.begin(fail)
        return "went on" if asyncio.current_task() is None else "entered"

    assert outside_of_tasks(act) == "went on"


def test_a_first_step_that_is_cancelled_is_a_cancelled_task() -> None:
    def give_up() -> None:
        raise asyncio.CancelledError

    task: Any = outside_of_tasks(lambda eager_tasks: eager_tasks.begin(give_up))
    assert task.cancelled()


def test_the_rest_can_be_cancelled_and_sees_it() -> None:
    seen: list[str] = []

    async def handler(gate: asyncio.Future[None]) -> None:
        try:
            await gate
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    def act(eager_tasks: EagerTasks) -> Any:
        gate = asyncio.get_running_loop().create_future()
        task = eager_tasks.begin(lambda: step(handler(gate)))
        assert isinstance(task, asyncio.Task)
        asyncio.get_running_loop().call_later(0.01, task.cancel)
        return task

    task = outside_of_tasks(act)
    assert task.cancelled()
    assert seen == ["cancelled"]


def test_what_is_left_may_be_wrapped() -> None:
    async def handler(gate: asyncio.Future[None]) -> int:
        await gate
        return 1

    async def twice(rest: Coroutine[Any, Any, int]) -> int:
        return 2 * await rest

    def act(eager_tasks: EagerTasks) -> Any:
        gate = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(gate.set_result, None)
        return eager_tasks.begin(lambda: step(handler(gate)), twice)

    assert outside_of_tasks(act).result() == 2
