"""All stores of one server on Redis."""

from __future__ import annotations

from dovetail.stores.redis.redis_stores import RedisStores
from tests.cluster.redis_server import RedisServer
from tests.unit.fakes import drive


def test_servers_with_the_same_name_share_their_stores(redis_server: RedisServer) -> None:
    async def run() -> None:
        one, same = (RedisStores(redis_server.url, "a shop: new*") for _ in range(2))
        other = RedisStores(redis_server.url, "another")
        async with one.opened(), same.opened(), other.opened():
            assert one.cluster.key("x") == b"dovetail:a_shop__new_:x"
            assert await one.rounds.use(b"1", 60)
            assert not await same.rounds.use(b"1", 60)
            assert await other.rounds.use(b"1", 60)

    drive(run())


def test_the_name_in_the_url_comes_before_the_name_of_the_server() -> None:
    stores = RedisStores("redis://127.0.0.1?name=blue", "shop")
    assert stores.cluster.key("x", "y") == b"dovetail:blue/shop:x:y"
