"""The interface between the processes of a cluster."""

from __future__ import annotations

import inspect

import pytest

from dovetail.state.redis_url import RedisUrl
from dovetail.stores.cluster import Cluster
from dovetail.stores.redis.node import RedisNode


@pytest.mark.parametrize(
    "name", [name for name, each in inspect.getmembers(Cluster, inspect.isfunction)]
)
def test_redis_implements_each_method(name: str) -> None:
    if not name.startswith("_"):
        wanted = inspect.signature(getattr(Cluster, name))
        assert inspect.signature(getattr(RedisNode, name)) == wanted


def test_the_name_of_a_node_is_random_and_can_be_part_of_a_key() -> None:
    nodes: list[Cluster] = [RedisNode(RedisUrl(), "test") for _ in range(2)]
    assert nodes[0].node != nodes[1].node
    assert all(each.node.isalnum() for each in nodes)
