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


def test_the_time_of_handlers_does_not_count() -> None:
    async def middleware(limit: MiddlewareTimeLimit, first: bool) -> str:
        if first:
            await asyncio.sleep(0)
        for handlers in (1, 2, 1):
            for _ in range(handlers):
                limit.pause()
            pass_time(10)
            await asyncio.sleep(0.001)
            for _ in range(handlers):
                limit.resume()
        return "done"

    async def scenario() -> None:
        for first in (True, False):
            limit = MiddlewareTimeLimit(5, "tools/call")
            assert await limit.run(middleware(limit, first)) == "done"

    run(scenario())


def test_without_a_limit_nothing_expires() -> None:
    async def middleware(limit: MiddlewareTimeLimit) -> str:
        limit.pause()
        limit.resume()
        pass_time(100)
        await asyncio.sleep(0.001)
        return "done"

    async def scenario() -> None:
        limit = MiddlewareTimeLimit(None, "tools/call")
        assert await limit.run(middleware(limit)) == "done"

    run(scenario())


@pytest.mark.parametrize("waits", [True, False])
def test_other_errors_pass(waits: bool) -> None:
    async def fail() -> None:
        if waits:
            await asyncio.sleep(0)
        raise TimeoutError("mine")

    async def scenario() -> None:
        with pytest.raises(TimeoutError, match="mine"):
            await MiddlewareTimeLimit(5, "tools/call").run(fail())

    run(scenario())


def test_a_cancellation_passes() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def scenario() -> None:
        task = asyncio.create_task(MiddlewareTimeLimit(5, "tools/call").run(wait()))
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
