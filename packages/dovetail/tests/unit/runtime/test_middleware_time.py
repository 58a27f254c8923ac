"""Middleware that never ends: its request gets an error, and no other client is affected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.middleware import CircuitBreaker, Retry
from dovetail.runtime.middleware_time import MiddlewareTimeLimit
from dovetail.testing import connect
from tests.patience import CAP, pass_time
from tests.unit.talk import ERAS, LEGACY, run


async def hang(request: Any, call_next: Any) -> Any:
    if getattr(request, "name", "") == "stuck":
        pass_time(10)
        await asyncio.Event().wait()
    return await call_next(request)


def make_server(*middleware: Any) -> Server:
    server = Server("s", middleware=middleware, options=Options(timeout=5))

    @server.tool
    async def stuck() -> str:
        return "never"

    @server.tool(timeout=100)
    async def slow() -> str:
        pass_time(10)
        await asyncio.sleep(0.001)
        return "done"

    return server


@pytest.mark.parametrize("mode", ERAS)
def test_a_middleware_that_never_calls_on_is_an_error(mode: str) -> None:
    async def scenario() -> None:
        async with connect(make_server(hang), mode=mode, timeout=CAP) as client:
            stuck, slow = await asyncio.gather(client.call("stuck"), client.call("slow"))
            assert slow.text == "done"
            assert stuck.is_error
            assert stuck.text == "A middleware exceeded the time limit of 5 s for tools/call"
            assert (await client.call("slow")).text == "done"

    run(scenario())


def test_the_time_of_the_handler_does_not_count() -> None:
    async def scenario() -> None:
        async with MiddlewareTimeLimit(5, "tools/call") as limit:
            for _ in range(3):
                with limit.paused():
                    pass_time(10)
                    await asyncio.sleep(0.001)
            with limit.paused(), limit.paused():
                pass_time(10)
                await asyncio.sleep(0.001)

    run(scenario())


def test_without_a_limit_nothing_expires() -> None:
    async def scenario() -> None:
        async with MiddlewareTimeLimit(None, "tools/call") as limit:
            with limit.paused():
                pass
            pass_time(100)
            await asyncio.sleep(0.001)

    run(scenario())


def test_other_errors_and_cancellation_pass() -> None:
    async def scenario() -> None:
        with pytest.raises(TimeoutError, match="mine"):
            async with MiddlewareTimeLimit(5, "tools/call"):
                raise TimeoutError("mine")

        async def wait() -> None:
            async with MiddlewareTimeLimit(5, "tools/call"):
                await asyncio.Event().wait()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())


def test_a_repeated_handler_may_ask_again_below_other_middleware() -> None:
    server = Server("s", middleware=[Retry(pause=0, tools=["greet"]), CircuitBreaker()])
    failures = [ConnectionError("refused")]

    @server.tool
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", {"type": "object", "properties": {"name": {}}}, key="n")
        if failures:
            raise failures.pop()
        return str(answer.data)

    async def name(_: Any) -> dict[str, str]:
        return {"name": "Anna"}

    async def scenario() -> str:
        async with connect(server, mode=LEGACY, elicit=name) as client:
            return (await client.call("greet")).text

    assert run(scenario()) == "{'name': 'Anna'}"
