"""All stores of one server on Redis."""

from __future__ import annotations

from dovetail.stores.redis.redis_stores import RedisStores


def test_the_keys_of_a_server_begin_with_its_name() -> None:
    stores = RedisStores("redis://127.0.0.1", "a shop: new*")
    assert stores.cluster.key("x") == b"dovetail:a%20shop%3A%20new%2A:x"


def test_the_name_in_the_url_comes_before_the_name_of_the_server() -> None:
    stores = RedisStores("redis://127.0.0.1?name=blue", "shop")
    assert stores.cluster.key("x", "y") == b"dovetail:blue/shop:x:y"
