"""Session state on Redis: shared by all nodes, with the limits of the store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dovetail.errors import LimitError, StoreError
from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.session_states import RedisSessionStates
from dovetail.stores.session_states import MemorySessionStates
from tests.unit.fakes import drive


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[RedisNode, RedisSessionStates]]:
    node = RedisNode(parse_url(url), "test")
    async with node.opened():
        yield node, RedisSessionStates(node)


def test_values_belong_to_one_owner_and_all_nodes_see_them(cluster_url: str) -> None:
    async def run() -> None:
        async with opened(cluster_url) as (_, one), opened(cluster_url) as (_, other):
            await one.set("anna", "key", b"1\r\n\x00", lifetime=60, max_bytes=1000)
            await one.set("bert", "key", b"2", lifetime=60, max_bytes=1000)
            assert await other.get("anna", "key") == b"1\r\n\x00"
            assert await other.get("bert", "key") == b"2"
            # The names of what the store keeps itself are names like any other.
            for name in ("size", "lifetime", "vkey", ""):
                assert await other.get("anna", name) is None
            await other.delete("anna", "key")
            await other.delete("anna", "key")
            assert await one.get("anna", "key") is None
            other.forget("bert")
            assert await other.get("bert", "key") is None

    drive(run())


def test_limits_are_those_of_the_store_in_memory(cluster_url: str) -> None:
    steps = [
        ("a", b"x" * 300),
        ("b", b"x" * 100),
        ("a", b"x" * 400),
        ("k" * 100, b""),
        ("ä" * 40, b""),
        ("a", b""),
        ("b", b"x" * 196),
        ("b", b"x" * 197),
        ("a", None),
        ("c", b"x" * 97),
        ("c", b"x" * 98),
    ]

    async def try_all(store: RedisSessionStates | MemorySessionStates) -> list[str]:
        found = []
        for key, value in steps:
            if value is None:
                await store.delete("anna", key)
                continue
            try:
                await store.set("anna", key, value, lifetime=None, max_bytes=500)
                found.append("stored")
            except LimitError as error:
                found.append(str(error))
        return found

    async def run() -> None:
        expected = await try_all(MemorySessionStates())
        assert "stored" in expected and len(set(expected)) == 2
        async with opened(cluster_url) as (_, store):
            assert await try_all(store) == expected

    drive(run())


def test_values_expire_after_their_last_use(cluster_url: str) -> None:
    async def run() -> None:
        async with opened(cluster_url) as (node, store):
            key = node.key("state", "anna")

            async def left() -> float:
                """Seconds until the values expire; then let a part of them pass."""
                seconds = await node.client.do("PTTL", key) / 1000
                await node.client.do("PEXPIRE", key, 500_000)
                return float(seconds)

            await store.set("anna", "a", b"1", lifetime=1000, max_bytes=1000)
            assert 900 < await left() <= 1000
            await store.get("anna", "missing")
            assert 900 < await left() <= 1000
            await store.set("anna", "b", b"1", lifetime=2000, max_bytes=1000)
            await store.delete("anna", "a")
            assert 1900 < await left() <= 2000
            await store.set("session", "a", b"1", lifetime=None, max_bytes=1000)
            assert await node.client.do("TTL", node.key("state", "session")) > 80_000
            # Nothing is left of an owner without values.
            await store.delete("anna", "b")
            assert await node.client.do("EXISTS", key) == 0

    drive(run())


def test_parallel_calls_do_not_get_around_the_limit(cluster_url: str) -> None:
    async def run() -> None:
        async with opened(cluster_url) as (_, one), opened(cluster_url) as (_, other):
            sets = [
                store.set("anna", str(turn), b"x" * 99, lifetime=60, max_bytes=1000)
                for turn in range(9)
                for store in (one, other)
            ]
            await asyncio.gather(*sets, return_exceptions=True)
            stored = [await one.get("anna", str(turn)) for turn in range(9)]
            assert sum(value is not None for value in stored) == 5

    drive(run())


def test_without_redis_values_cannot_be_used_and_forget_returns() -> None:
    async def run() -> None:
        async with opened("redis://127.0.0.1:1/0") as (_, store):
            for use in (
                store.get("anna", "key"),
                store.set("anna", "key", b"1", lifetime=60, max_bytes=1000),
                store.delete("anna", "key"),
            ):
                with pytest.raises(StoreError, match="cannot connect"):
                    await use
            store.forget("anna")

    drive(run())
