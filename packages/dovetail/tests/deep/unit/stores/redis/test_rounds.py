"""Used rounds of questions on Redis."""

from __future__ import annotations

from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.rounds import RedisRounds
from tests.unit.fakes import drive


def test_a_round_is_used_once_in_all_processes(cluster_url: str) -> None:
    async def run() -> None:
        one, other = (RedisNode(parse_url(cluster_url), "test") for _ in range(2))
        async with one.opened(), other.opened():
            assert await RedisRounds(one).use(b"\x00round", 60)
            assert not await RedisRounds(other).use(b"\x00round", 60)
            assert await RedisRounds(other).use(b"another", 0.0001)
            remaining = await one.client.do("PTTL", one.key("round", b"\x00round".hex()))
            assert 0 < remaining <= 60_000

    drive(run())
