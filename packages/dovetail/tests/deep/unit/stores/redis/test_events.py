"""Events of streams on Redis, read after their process has ended."""

from __future__ import annotations

import asyncio

from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.events import RedisEvents
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.shared_stores import StoredEvents
from tests.patience import CAP


def test_the_rest_of_a_stream_is_read_in_order(cluster_url: str) -> None:
    async def run() -> None:
        node = RedisNode(parse_url(cluster_url), "test")
        async with asyncio.timeout(CAP), node.opened():
            events = RedisEvents(node)
            assert await events.read("session", "a.1-1", -1) is None
            events.begin("session", "a.1-1", b"[1]")
            for number, message in enumerate([b"", b"one", b"two"]):
                events.append("session", "a.1-1", number, message, oldest=0)
            assert await events.read("session", "a.1-1", 0) == StoredEvents(
                [(1, b"one"), (2, b"two")], b"[1]", False
            )
            events.complete("session", "a.1-1")
            assert await events.read("session", "a.1-1", 1) == StoredEvents(
                [(2, b"two")], b"[1]", True
            )
            # The client has got an event that was not stored before the process ended.
            assert await events.read("session", "a.1-1", 3) == StoredEvents([], b"[1]", True)
            assert await events.read("other", "a.1-1", 0) is None
            events.drop("session", "a.1-1")
            assert await events.read("session", "a.1-1", 1) is None

    asyncio.run(run())


def test_a_stream_with_missing_events_is_not_resumed(cluster_url: str) -> None:
    async def run() -> None:
        node = RedisNode(parse_url(cluster_url), "test")
        async with asyncio.timeout(CAP), node.opened():
            events = RedisEvents(node)
            events.begin("session", "trimmed", b"[]")
            for number in range(4):
                events.append("session", "trimmed", number, b"m", oldest=max(0, number - 1))
            assert await events.read("session", "trimmed", 0) is None
            assert await events.read("session", "trimmed", 1) == StoredEvents(
                [(2, b"m"), (3, b"m")], b"[]", False
            )
            events.begin("session", "hole", b"[]")
            for number in (0, 2):
                events.append("session", "hole", number, b"m", oldest=0)
            assert await events.read("session", "hole", 0) is None

    asyncio.run(run())


def test_writing_raises_nothing_while_redis_is_away() -> None:
    async def run() -> None:
        node = RedisNode(parse_url("redis://127.0.0.1:1/0"), "test")
        async with asyncio.timeout(CAP), node.opened():
            events = RedisEvents(node)
            events.begin("session", "a", b"[]")
            events.append("session", "a", 0, b"m", oldest=0)
            events.complete("session", "a")
            events.drop("session", "a")

    asyncio.run(run())
