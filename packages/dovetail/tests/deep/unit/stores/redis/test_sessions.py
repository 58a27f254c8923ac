"""Sessions on Redis: fields, limits by owner, expiry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovetail.errors import LimitError
from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.sessions import RedisSessions
from tests.patience import CAP

Test = Callable[[RedisSessions, RedisNode], Coroutine[Any, Any, None]]
MINUTE = 60.0


def run(url: str, test: Test) -> None:
    async def main() -> None:
        node = RedisNode(parse_url(url), "test")
        async with asyncio.timeout(CAP), node.opened():
            await test(RedisSessions(node), node)

    asyncio.run(main())


async def add(
    sessions: RedisSessions, id: str, owner: str = "", limit: int = 10, lifetime: float = MINUTE
) -> list[str]:
    fields = {"handshake": b"{}", "owner": owner.encode()}
    return [*await sessions.add(id, owner, fields, limit=limit, lifetime=lifetime)]


def test_a_session_has_its_fields_until_it_ends(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, _: RedisNode) -> None:
        assert await sessions.load("a") is None
        assert await add(sessions, "a", "me") == []
        assert await sessions.load("a") == {"handshake": b"{}", "owner": b"me"}
        assert await sessions.change("a", {"log": b"3", "owner": None, "uri \xe9": b""})
        assert await sessions.load("a") == {"handshake": b"{}", "log": b"3", "uri \xe9": b""}
        assert await sessions.touch("a", MINUTE)
        assert await sessions.remove("a")
        assert not await sessions.remove("a")
        assert not await sessions.touch("a", MINUTE)
        assert await sessions.load("a") is None

    run(cluster_url, test)


def test_a_session_that_has_ended_does_not_come_back(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, _: RedisNode) -> None:
        assert not await sessions.change("a", {"log": b"3"})
        assert await sessions.load("a") is None

    run(cluster_url, test)


def test_unused_sessions_expire_and_leave_nothing(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, node: RedisNode) -> None:
        await add(sessions, "a", "me", lifetime=0.001)
        while await sessions.load("a") is not None:
            await asyncio.sleep(0.001)
        await add(sessions, "b", "you", limit=1)
        assert await node.client.do("ZCARD", node.key("sessions")) == 1
        assert await node.client.do("ZRANGE", node.key("owners"), 0, -1, "WITHSCORES") != []
        assert await node.client.do("ZCARD", node.key("owners")) == 1
        await sessions.remove("b")
        left = await node.client.do("KEYS", node.key("*"))
        assert {key.rpartition(b":")[0] for key in left} <= {
            node.key("").removesuffix(b":"),
            node.key("node"),
            node.key("inbox"),
        }

    run(cluster_url, test)


def test_the_owner_with_the_most_sessions_makes_room(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, _: RedisNode) -> None:
        for id in ("a", "b", "c"):
            await add(sessions, id, "flood", limit=3)
        await sessions.touch("a", 2 * MINUTE)
        assert await add(sessions, "d", "quiet", limit=3) == ["b"]
        assert await sessions.load("b") is None
        assert await sessions.load("a") is not None

    run(cluster_url, test)


def test_a_full_store_refuses_an_owner_whose_sessions_are_in_use(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, _: RedisNode) -> None:
        await add(sessions, "a", "me", limit=2)
        await add(sessions, "b", "me", limit=2)
        with pytest.raises(LimitError, match="limit of 2 sessions"):
            await add(sessions, "c", "me", limit=2)

    run(cluster_url, test)


def test_an_idle_session_of_the_same_owner_makes_room(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, _: RedisNode) -> None:
        await add(sessions, "a", "me", limit=2, lifetime=MINUTE)
        await add(sessions, "b", "me", limit=2, lifetime=10 * MINUTE)
        # "a" expires nine minutes earlier, so it was last used nine minutes before "b".
        assert await add(sessions, "c", "me", limit=2, lifetime=10 * MINUTE) == ["a"]

    run(cluster_url, test)


def test_a_session_that_is_stored_again_counts_once(cluster_url: str) -> None:
    async def test(sessions: RedisSessions, node: RedisNode) -> None:
        await add(sessions, "a", "me")
        await sessions.change("a", {"log": b"3"})
        await add(sessions, "a", "me")
        assert (await sessions.load("a") or {})["log"] == b"3"
        assert await node.client.do("ZCARD", node.key("sessions")) == 1
        [_, count] = await node.client.do("ZRANGE", node.key("owners"), 0, -1, "WITHSCORES")
        assert count == b"1"

    run(cluster_url, test)
