"""Rates and running calls on Redis: exact over several nodes, and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from dovetail.errors import StoreError
from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.rates import RedisRates
from dovetail.stores.shared_stores import OverLimit, RateBucket, RunningLimit
from tests.cluster.redis_server import running_redis
from tests.patience import CAP

# Refilled so slowly that no token is added during a test.
SLOW = 1e-3


@asynccontextmanager
async def nodes(url: str, number: int = 2) -> AsyncIterator[list[RedisNode]]:
    opened = [RedisNode(parse_url(url), "test") for _ in range(number)]
    for node in opened:
        await node.open()
    try:
        yield opened
    finally:
        for node in opened:
            await node.close()


async def count(stores: Sequence[RedisRates], bucket: RateBucket, offered: int) -> int:
    """Calls that pass, offered at the same time to all processes."""
    taking = [stores[turn % len(stores)].take([bucket]) for turn in range(offered)]
    return sum(not isinstance(each, OverLimit) for each in await asyncio.gather(*taking))


def test_a_burst_is_exact_over_all_nodes(cluster_url: str) -> None:
    async def run() -> None:
        async with nodes(cluster_url, 4) as opened:
            stores = [RedisRates(node) for node in opened]
            assert await count(stores, RateBucket("a", SLOW, 37), 200) == 37
            assert await count(stores, RateBucket("b", SLOW, 1), 20) == 1

    asyncio.run(run())


def test_a_rejected_call_takes_nothing_and_names_the_bucket(cluster_url: str) -> None:
    async def run() -> None:
        async with nodes(cluster_url) as (node, other):
            one, two = RedisRates(node), RedisRates(other)
            wide, narrow = RateBucket("wide", SLOW, 5), RateBucket("narrow", 0.5, 2)
            assert [await one.take([wide, narrow]) for _ in range(2)] == ["", ""]
            rejected = await two.take([wide, narrow])
            assert isinstance(rejected, OverLimit) and rejected.position == 1
            assert 0 < rejected.wait <= 2
            for _ in range(5):
                await two.take([wide, narrow])
            assert await count([one, two], wide, 10) == 3

    asyncio.run(run())


def test_tokens_come_back_at_the_rate_and_a_full_bucket_expires(cluster_url: str) -> None:
    async def run() -> None:
        async with nodes(cluster_url, 1) as (node,):
            rates, bucket = RedisRates(node), RateBucket("a", 0.01, 3)
            key = node.key("rate", "a")
            assert await count([rates], bucket, 9) == 3
            assert 200_000 < await node.client.do("PTTL", key) <= 300_000
            # As if it had been emptied so long ago that two tokens are back.
            seconds, microseconds = map(int, await node.client.do("TIME"))
            await node.client.do("SET", key, (seconds + 100) * 1_000_000 + microseconds)
            assert await count([rates], bucket, 9) == 2

    asyncio.run(run())


@pytest.mark.parametrize("stored", ["9e18", "not a number", "nan"])
def test_a_wrong_stored_time_blocks_nobody_for_longer_than_a_token_takes(
    cluster_url: str, stored: str
) -> None:
    async def run() -> None:
        async with nodes(cluster_url, 1) as (node,):
            rates, bucket = RedisRates(node), RateBucket("a", 0.5, 3)
            await node.client.do("SET", node.key("rate", "a"), stored)
            taken = await rates.take([bucket])
            assert taken == "" or (isinstance(taken, OverLimit) and taken.wait <= 2)

    asyncio.run(run())


def test_running_calls_are_counted_over_all_nodes(cluster_url: str) -> None:
    async def run() -> None:
        limits = [RunningLimit("anna", 2), RunningLimit("all", 3)]
        bucket = RateBucket("a", SLOW, 4)
        async with nodes(cluster_url) as (node, other):
            one, two = RedisRates(node), RedisRates(other)
            first, second = await one.take([bucket], limits), await two.take([bucket], limits)
            assert isinstance(first, str) and isinstance(second, str)
            assert await one.take([bucket], limits) == OverLimit(1, 0.0)
            third = await two.take([bucket], [RunningLimit("bert", 2), limits[1]])
            assert isinstance(third, str)
            assert await one.take([bucket], [RunningLimit("bert", 2), limits[1]]) == OverLimit(2, 0)
            one.release(first, limits)
            assert isinstance(await one.take([bucket], limits), str)
            # The bucket, which has none left, is the first limit.
            two.release(third, [RunningLimit("bert", 2), limits[1]])
            rejected = await two.take([bucket], [RunningLimit("bert", 2), limits[1]])
            assert isinstance(rejected, OverLimit) and rejected.position == 0
            assert await node.client.do("SCARD", node.key("running", "bert")) == 0
            assert await node.client.do("TTL", node.key("running", "all")) > 0

    asyncio.run(run())


def test_calls_of_a_process_that_has_ended_are_dropped(cluster_url: str) -> None:
    async def run() -> None:
        limits = [RunningLimit("all", 2)]
        async with nodes(cluster_url, 1) as (node,):
            rates = RedisRates(node)
            dead = RedisNode(parse_url(cluster_url), "test")
            await dead.open()
            lost = RedisRates(dead)
            assert isinstance(await lost.take([], limits), str)
            assert isinstance(await rates.take([], limits), str)
            assert await rates.take([], limits) == OverLimit(0, 0.0)
            await dead.close()
            async with asyncio.timeout(CAP):
                while isinstance(await rates.take([], limits), OverLimit):
                    await asyncio.sleep(0.05)
            assert await rates.take([], limits) == OverLimit(0, 0.0)

    asyncio.run(run())


def test_a_cancelled_call_is_not_counted_as_running(cluster_url: str) -> None:
    async def run() -> None:
        limits = [RunningLimit("all", 1)]
        async with nodes(cluster_url, 1) as (node,):
            rates = RedisRates(node)
            task = asyncio.create_task(rates.take([], limits))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            assert isinstance(await rates.take([], limits), str)

    asyncio.run(run())


def test_the_end_of_a_call_is_told_when_redis_is_back(tmp_path: Path) -> None:
    async def run() -> None:
        limits = [RunningLimit("anna", 1), RunningLimit("all", 1)]
        with running_redis(tmp_path / "redis") as server:
            async with nodes(server.url, 1) as (node,):
                rates = RedisRates(node)
                call = await rates.take([], limits)
                assert isinstance(call, str)
                members = [await node.client.do("SMEMBERS", key) for key in keys(node, limits)]
                server.kill()
                rates.release(call, limits)
                with pytest.raises(StoreError):
                    await rates.take([], limits)
                server.start()
                await back(node)
                # As if Redis had kept its contents.
                for key, calls in zip(keys(node, limits), members, strict=True):
                    await node.client.do("SADD", key, *calls)
                assert isinstance(await rates.take([], limits), str)

    asyncio.run(run())


def keys(node: RedisNode, limits: Sequence[RunningLimit]) -> list[bytes]:
    return [node.key("running", limit.name) for limit in limits]


async def back(node: RedisNode) -> None:
    async with asyncio.timeout(CAP):
        while True:
            with suppress(StoreError):
                await node.client.do("PING")
                return
            await asyncio.sleep(0.01)
