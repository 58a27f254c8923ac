"""Limits of a guard over two processes."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail import Options, Server
from dovetail.auth import Guard, Limits, Rate
from tests.cluster.redis_server import running_redis
from tests.cluster.shop import STATE_KEY
from tests.unit.fakes import drive

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def serving(url: str, limits: Limits, count: int = 2) -> AsyncIterator[list[Server]]:
    servers = []
    async with AsyncExitStack() as stack:
        for _ in range(count):
            options = Options(state=url, state_keys=[STATE_KEY])
            server = Server("limited", options=options, guard=Guard(limits=limits))
            server.tool(lambda: "done", name="plain")
            server.tool(_wait, name="wait")
            await server.start()
            stack.push_async_callback(server.close)
            servers.append(server)
        yield servers


# A member for each call of `wait` that has begun.
begun: list[None] = []


async def _wait() -> str:
    begun.append(None)
    await asyncio.sleep(3600)
    return "never"


async def call(server: Server, caller: str, tool: str = "plain") -> dict[str, Any]:
    params = {"name": tool, "arguments": {}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await server.handle(json.dumps(message), principal=caller)
    assert answer is not None
    found: dict[str, Any] = json.loads(answer)
    return found


async def count(servers: Sequence[Server], caller: str, offered: int, tool: str = "plain") -> int:
    """Calls that pass, spread over all servers at the same time."""
    calls = [call(servers[turn % len(servers)], caller, tool) for turn in range(offered)]
    return sum("result" in answer for answer in await asyncio.gather(*calls))


def test_rates_count_the_calls_of_all_processes(cluster_url: str) -> None:
    async def run() -> None:
        slow = Rate(1, per=3600, burst=5)
        limits = Limits(per_principal=slow, total=Rate(1, per=3600, burst=8))
        async with serving(cluster_url, limits) as servers:
            assert await count(servers, "anna", 20) == 5
            # Rejected calls of one caller take nothing from the others.
            assert await count(servers, "bert", 20) == 3
            answer = await call(servers[1], "anna")
            assert answer["error"]["code"] == 429
            assert "the limit is 1 per hour for each caller. Try" in answer["error"]["message"]
            assert 0 < answer["error"]["data"]["retryAfter"] <= 3600
            answer = await call(servers[0], "cleo")
            assert "the limit is 1 per hour for all callers together" in answer["error"]["message"]

    drive(run())


def test_each_tool_has_its_own_rate_in_all_processes(cluster_url: str) -> None:
    async def run() -> None:
        limits = Limits(per_tool={"plain": Rate(1, per=3600, burst=3)})
        async with serving(cluster_url, limits) as servers:
            assert await count(servers, "anna", 9) == 3
            assert await count(servers, "bert", 9) == 3
            answer = await call(servers[0], "anna")
            assert "for each caller of 'plain'" in answer["error"]["message"]
            assert (await call(servers[1], "anna", "missing"))["error"]["code"] == -32602

    drive(run())


def test_calls_in_flight_are_counted_in_all_processes(cluster_url: str) -> None:
    async def run() -> None:
        begun.clear()
        limits = Limits(in_flight=2, in_flight_total=3)
        async with serving(cluster_url, limits) as servers:
            one, other = servers
            running = [asyncio.create_task(call(each, "anna", "wait")) for each in servers]
            running.append(asyncio.create_task(call(other, "bert", "wait")))
            # Another call before that could take the place of one of them.
            while len(begun) < len(running):
                await asyncio.sleep(0.01)
            answer = await call(one, "anna")
            assert "2 of your calls are still running" in answer["error"]["message"]
            answer = await call(one, "cleo")
            assert "The server is busy: 3 calls" in answer["error"]["message"]
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            while await count(servers, "anna", 2) < 2:
                await asyncio.sleep(0.01)

    drive(run())


def test_without_redis_each_process_applies_the_limits_on_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run() -> None:
        limits = Limits(per_principal=Rate(1, per=3600, burst=5), in_flight=1)
        async with serving("redis://127.0.0.1:1/0", limits) as servers:
            for server in servers:
                passed = ["result" in await call(server, "anna") for _ in range(8)]
                assert sum(passed) == 5

    with caplog.at_level(logging.WARNING, "dovetail"):
        drive(run())
    warnings = [each.message for each in caplog.records if "limits apply" in each.message]
    assert len(warnings) == 2


def test_limits_are_shared_again_when_redis_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        limits = Limits(per_principal=Rate(1, per=3600, burst=2), in_flight=10)
        with running_redis(tmp_path / "redis") as redis:
            async with serving(redis.url, limits) as servers:
                assert await count(servers, "anna", 8) == 2
                for turn in range(2):
                    redis.kill()
                    # Each process has a bucket of its own for each caller.
                    assert await count(servers, f"bert {turn}", 8) == 4
                    redis.start()
                    # Until then each process would let two calls of every new caller pass.
                    callers = (f"cleo {turn} {number}" for number in itertools.count())
                    while await count(servers, next(callers), 8) != 2:
                        await asyncio.sleep(0.01)

    with caplog.at_level(logging.WARNING, "dovetail"):
        drive(run())
    warnings = [each.message for each in caplog.records if "limits apply" in each.message]
    assert len(warnings) == 4


def test_limits_that_need_no_counting_ask_redis_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        limits = Limits(max_result_bytes=1000, per_tool={"other": Rate(1)})
        async with serving("redis://127.0.0.1:1/0", limits, 1) as (server,):
            assert "result" in await call(server, "anna")

    with caplog.at_level(logging.WARNING, "dovetail"):
        drive(run())
    assert not [each for each in caplog.records if "limits apply" in each.message]
