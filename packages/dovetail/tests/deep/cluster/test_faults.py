"""Each fault of Redis: what needs nothing shared goes on, the rest is refused, all comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.cluster.faults import FAULTS, PREPARE, Fault, inflict, until_shared, with_login
from tests.cluster.in_process import ServedCluster, serving_cluster
from tests.cluster.redis_server import RedisServer, running_redis
from tests.cluster.shop import make_shop
from tests.cluster.wire import (
    Answer,
    answer_question,
    call,
    initialize,
)
from tests.unit.fakes import drive


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_fault_of_redis(fault: Fault, tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        url = with_login(server)
        async with serving_cluster(make_shop, url) as cluster:
            one, other = cluster.ports
            await until_shared(*cluster.ports)
            question = await call(one, "order")
            await asyncio.to_thread(inflict, server, fault.begin)
            await check_unshared(cluster)
            while fault.problem not in (find_problem(cluster) or ""):
                await asyncio.sleep(0.01)
            if fault.is_noticed:
                await until_refused(lambda: answer_question(question, other, 1))
                await until_refused(lambda: initialize(other))
            await check_unshared(cluster)
            await asyncio.to_thread(inflict, server, fault.end)
            await until_shared(*cluster.ports)
            await check_unshared(cluster)

    with running_redis(tmp_path) as server:
        inflict(server, PREPARE)
        drive(run(server))


def test_redis_is_absent_at_the_start(tmp_path: Path) -> None:
    redis = RedisServer(tmp_path)

    async def run() -> None:
        async with serving_cluster(make_shop, redis.url) as cluster:
            question = await call(cluster.ports[0], "order")
            await check_unshared(cluster)
            assert "connecting to" in (find_problem(cluster) or "")
            await until_refused(lambda: answer_question(question, cluster.ports[1], 1))
            await asyncio.to_thread(redis.start)
            await until_shared(*cluster.ports)

    try:
        drive(run())
    finally:
        redis.stop()


def test_a_slow_redis_delays_only_what_needs_it(
    redis_server: RedisServer, cluster_url: str
) -> None:
    async def slow_down() -> None:
        while True:
            await asyncio.to_thread(redis_server.command, "CLIENT", "PAUSE", "100", "ALL")

    async def run() -> None:
        async with serving_cluster(make_shop, cluster_url) as cluster:
            await until_shared(*cluster.ports)
            slow = asyncio.create_task(slow_down())
            for _ in range(3):
                await check_unshared(cluster)
                question = await call(cluster.ports[0], "order")
                answer = await answer_question(question, cluster.ports[1], 2)
                assert answer.text == "2 ordered"
            slow.cancel()
            await asyncio.wait([slow])

    drive(run())


# -- what is checked -----------------------------------------------------------------------------


async def check_unshared(cluster: ServedCluster) -> None:
    """Calls that need no shared state are served by every process."""
    for port in cluster.ports:
        assert (await call(port, "add", a=1, b=2)).text == "3"


def find_problem(cluster: ServedCluster) -> str | None:
    """What the second server knows of the state of Redis."""
    return cluster.servers[1].engine.state.backend.problem


async def until_refused(send: Callable[[], Awaitable[Answer]]) -> None:
    """Wait until a call is refused, in the documented way."""
    while (answer := await send()).status == 200:
        # Served before the fault was noticed.
        await asyncio.sleep(0.01)
    assert answer.status == 503, answer
    assert answer.headers["retry-after"] == "1"
    assert answer.error is not None and "shared store of this server cannot be" in answer.error
