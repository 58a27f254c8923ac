"""Middleware that never ends: its request gets an error, and no other client is affected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.middleware import CircuitBreaker, Retry
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
        await asyncio.sleep(0)
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


@pytest.mark.parametrize("waits_first", [True, False])
def test_the_time_of_handlers_does_not_count(waits_first: bool) -> None:
    async def several(request: Any, call_next: Any) -> Any:
        if waits_first:
            await asyncio.sleep(0)
        for handlers in (1, 2, 1):
            results = await asyncio.gather(*(call_next(request) for _ in range(handlers)))
        return results[0]

    async def scenario() -> None:
        async with connect(make_server(several), timeout=CAP) as client:
            assert (await client.call("slow")).text == "done"

    run(scenario())


def test_without_a_limit_nothing_expires() -> None:
    async def takes_long(request: Any, call_next: Any) -> Any:
        pass_time(100)
        await asyncio.sleep(0.001)
        return await call_next(request)

    async def scenario() -> None:
        server = Server("s", middleware=[takes_long], options=Options(timeout=None))
        server.tool(lambda: "done", name="quick")
        async with connect(server, timeout=CAP) as client:
            assert (await client.call("quick")).text == "done"

    run(scenario())


@pytest.mark.parametrize("waits", [True, False])
def test_a_timeout_of_the_middleware_itself_is_its_own_error(waits: bool) -> None:
    async def fail(request: Any, call_next: Any) -> Any:
        if waits:
            await asyncio.sleep(0)
        raise TimeoutError("mine")

    async def scenario() -> None:
        async with connect(make_server(fail), mode=LEGACY, timeout=CAP) as client:
            called = await client.call("slow")
            assert called.is_error and "Internal error" in called.text

    run(scenario())


def test_a_cancellation_reaches_the_middleware() -> None:
    async def scenario() -> None:
        started, ended = asyncio.Event(), asyncio.Event()

        async def wait(request: Any, call_next: Any) -> Any:
            if request.method != "tools/call":
                return await call_next(request)
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with connect(make_server(wait), timeout=CAP) as client:
            call = asyncio.create_task(client.call("slow"))
            await started.wait()
            call.cancel()
            await ended.wait()

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
