from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from dovetail.runtime.eager_tasks import resume_coroutine
from tests.unit.talk import run

WHERE: ContextVar[str] = ContextVar("WHERE", default="fingerprint")


def begun(running: Coroutine[Any, Any, Any]) -> Any:
    """What is left of a coroutine after its first step."""
    return resume_coroutine(running, running.send(None), running.send, running.throw)


def test_what_is_left_returns_what_the_whole_would() -> None:
    async def check() -> None:
        async def work() -> str:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return "done"

        assert await begun(work()) == "done"

    run(check())


def test_what_is_thrown_at_it_reaches_the_coroutine() -> None:
    async def check() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def work() -> str:
            try:
                await future
            except ValueError as error:
                return f"saw {error}"
            return "nothing"

        rest = begun(work())
        future.set_exception(ValueError("it"))
        assert await rest == "saw it"

    run(check())


def test_cancelling_closes_the_coroutine_too() -> None:
    async def check() -> None:
        ended = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        task = asyncio.ensure_future(begun(work()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [True]

    run(check())


def test_closing_what_is_left_closes_the_coroutine() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    rest = begun(work())
    rest.send(None)
    rest.close()
    assert ended == [True]


def test_steps_may_be_taken_in_another_context() -> None:
    async def check() -> None:
        context = copy_context()
        context.run(WHERE.set, "inside")

        async def work() -> str:
            await asyncio.sleep(0)
            return WHERE.get()

        running = work()

        def send(value: Any) -> Any:
            return context.run(running.send, value)

        assert await resume_coroutine(running, send(None), send, running.throw) == "inside"
        assert WHERE.get() == "fingerprint"

    run(check())
