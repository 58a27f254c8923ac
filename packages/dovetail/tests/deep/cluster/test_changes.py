"""Changes reach the clients of every process once."""

from __future__ import annotations

import asyncio
import os

from dovetail.client import Client
from tests.cluster.in_process import serving_cluster
from tests.cluster.listening import listening
from tests.cluster.redis_server import RedisServer
from tests.cluster.shop import NEWS, make_shop
from tests.patience import CAP

# `make cluster` runs this with 1,000 and four processes.
LISTENERS = int(os.environ.get("CLUSTER_LISTENERS", "20"))
LAST = "shop://last"


def test_calls_of_one_client_are_served_by_several_processes(cluster_url: str) -> None:
    async def run() -> None:
        async with serving_cluster(make_shop, cluster_url) as cluster:
            async with Client(cluster.url, mode="2026-07-28", timeout=CAP) as client:
                for number in range(20):
                    result = await client.call("add", {"a": number, "b": 1})
                    assert result.data == number + 1
            assert min(cluster.balancer.counts.values()) > 0

    asyncio.run(run())


def test_an_updated_resource_is_told_once_to_the_listeners_of_every_process(
    cluster_url: str,
) -> None:
    async def run() -> None:
        async with (
            serving_cluster(make_shop, cluster_url) as cluster,
            listening(cluster.ports, LISTENERS, [NEWS, LAST]) as listeners,
        ):
            for server in cluster.servers:
                server.resource_updated(NEWS)
                for listener in listeners:
                    await listener.until_told(NEWS)
                # Each server is one stream of messages in order: after the last, none is missing.
                server.resource_updated(LAST)
                for listener in listeners:
                    await listener.until_told(LAST)
                    assert listener.told == [NEWS, LAST]
                    listener.told.clear()

    asyncio.run(run())


def test_a_changed_list_is_told_to_the_listeners_of_every_process(cluster_url: str) -> None:
    async def run() -> None:
        async with (
            serving_cluster(make_shop, cluster_url) as cluster,
            listening(cluster.ports, 2, [LAST]) as listeners,
        ):

            async def late() -> None:
                """A tool that comes later."""

            cluster.servers[0].tool(late)
            cluster.servers[0].resource_updated(LAST)
            for listener in listeners:
                await listener.until_told(LAST)
                assert listener.lists == ["notifications/tools/list_changed"]

    asyncio.run(run())


def test_clients_are_told_to_look_again_if_changes_may_be_lost(
    cluster_url: str, redis_server: RedisServer
) -> None:
    async def run() -> None:
        async with (
            serving_cluster(make_shop, cluster_url) as cluster,
            listening(cluster.ports, 2, [NEWS, LAST]) as listeners,
        ):
            redis_server.command("FLUSHALL")
            for listener in listeners:
                await listener.until_told(NEWS)
                await listener.until_told(LAST)
                assert "notifications/tools/list_changed" in listener.lists

    asyncio.run(run())
