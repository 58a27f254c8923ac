"""Tasks in both eras, against our own server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from dovetail import Client, Context, Options, Server, ToolError
from dovetail.client import ElicitRequest, TaskState
from dovetail.errors import InvalidParamsError, PeerError, RpcError
from dovetail.tasks.client import ClientTask
from tests.patience import CAP
from tests.unit.client.real_http import serving
from tests.unit.talk import ERAS, LEGACY, MODERN, run


@dataclass
class Colour:
    name: str


class Site:
    """A server with tasks, and the handles to hold them by."""

    def __init__(self) -> None:
        options = Options(state="memory://", task_poll=0.01)
        self.server = Server("site", options=options)
        self.go_on = asyncio.Event()
        server = self.server

        @server.tool(task="optional")
        async def dig(depth: int, ctx: Context) -> str:
            """Waits to be let go."""
            ctx.progress(1, 2, "half way")
            await self.go_on.wait()
            return f"dug {depth}"

        @server.tool(task="required")
        async def paint(ctx: Context) -> str:
            first = await ctx.elicit("Which?", Colour)
            second = await ctx.elicit("And?", Colour)
            return " ".join(each.data.name if each.data else "-" for each in (first, second))

        @server.tool(task="optional")
        async def sink() -> str:
            raise RpcError("no ground", {"depth": 3}, code=7)

        @server.tool
        async def look() -> str:
            return "seen"


def answer_by_name(request: ElicitRequest) -> dict[str, Any]:
    return {"name": request.message}


def opened(site: Site, mode: str) -> Client:
    return Client(site.server, mode=mode, elicit=answer_by_name)


@pytest.mark.parametrize("mode", ERAS)
def test_a_task_is_started_followed_and_its_result_fetched(mode: str) -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, mode) as client:
            task = await client.start("dig", {"depth": 3}, ttl=60)
            assert task.id and task.state.status == "working"
            seen: list[tuple[str, str | None]] = []
            async for state in task.updates():
                seen.append((state.status, state.message))
                if state.message == "half way":
                    site.go_on.set()
            assert seen[-2:] == [("working", "half way"), ("completed", None)]
            result = await task.result()
            assert (result.text, result.tool) == ("dug 3", "dig")
            assert await task.refresh() is task.state
        await site.server.close()

    run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_input_requests_of_a_task_are_answered_by_the_callbacks(mode: str) -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, mode) as client:
            task = await client.start("paint")
            assert (await task.result(timeout=CAP)).text == "Which? And?"
        await site.server.close()

    run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_a_task_is_found_again_by_its_id(mode: str) -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, mode) as client:
            id = (await client.start("dig", {"depth": 4})).id
        site.go_on.set()
        async with opened(site, mode) as client:
            task = await client.task(id, "dig")
            assert (await task.result()).text == "dug 4"
            with pytest.raises(InvalidParamsError, match="Unknown task"):
                await client.task("another")
        await site.server.close()

    run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_a_cancelled_task_has_no_result(mode: str) -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, mode) as client:
            task = await client.start("dig", {"depth": 4})
            await task.cancel()
            assert task.state.status == "cancelled"
            await task.cancel()
            with pytest.raises(ToolError, match="cancelled by its client"):
                await task.result()
        await site.server.close()

    run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_an_error_of_the_request_is_raised(mode: str) -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, mode) as client:
            task = await client.start("sink")
            with pytest.raises(RpcError, match="no ground") as caught:
                await task.result()
            assert (caught.value.code, caught.value.data) == (7, {"depth": 3})
        await site.server.close()

    run(scenario())


@pytest.mark.parametrize("mode", ["2025-06-18", *ERAS])
def test_a_call_without_a_task_is_a_finished_task(mode: str) -> None:
    async def scenario() -> None:
        site = Site()
        site.go_on.set()
        async with opened(site, mode) as client:
            task = await client.start("look")
            assert (task.id, task.state.is_final) == ("", True)
            assert (await task.result()).text == "seen"
            if mode == "2025-06-18":
                assert (await (await client.start("dig", {"depth": 1})).result()).text == "dug 1"
        await site.server.close()

    run(scenario())


def test_cancelling_a_legacy_task_ends_its_pending_request() -> None:
    async def scenario() -> None:
        site = Site()
        asked = asyncio.Event()

        async def think(request: ElicitRequest) -> None:
            asked.set()
            await asyncio.Event().wait()

        async with Client(site.server, mode=LEGACY, elicit=think) as client:
            task = await client.start("paint")

            async def follow() -> list[TaskState]:
                return [state async for state in task.updates()]

            following = asyncio.create_task(follow())
            await asked.wait()
            await task.cancel()
            assert (await following)[-1].status == "cancelled"
        await site.server.close()

    run(scenario())


def test_a_timeout_of_the_caller_does_not_end_the_task() -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, MODERN) as client:
            task = await client.start("dig", {"depth": 5})
            with pytest.raises(TimeoutError):
                await task.result(timeout=0.05)
            site.go_on.set()
            assert (await task.result()).text == "dug 5"
        await site.server.close()

    run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_tasks_work_over_http(mode: str) -> None:
    site = Site()
    site.go_on.set()

    async def scenario(url: str) -> None:
        async with Client(url, mode=mode, timeout=CAP, elicit=answer_by_name) as client:
            assert (await (await client.start("dig", {"depth": 3})).result()).text == "dug 3"
            assert (await (await client.start("paint")).result()).text == "Which? And?"
            cancelled = await client.start("paint")
            await cancelled.cancel()
            assert cancelled.state.status == "cancelled"

    with serving(site.server.http_app()) as url:
        run(scenario(url))


def test_a_completed_task_without_a_result_raises_peer_error() -> None:
    async def scenario() -> None:
        site = Site()
        async with opened(site, MODERN) as client:
            calls = (await client.start("look"))._calls
            with pytest.raises(PeerError, match="neither result nor error"):
                await ClientTask(calls, TaskState("x", "completed"), "look").result()
        await site.server.close()

    run(scenario())
