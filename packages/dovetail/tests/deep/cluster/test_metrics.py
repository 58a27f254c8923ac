"""The state of the cluster on the metrics page, with a Redis that is killed and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from dovetail import Options, Server
from dovetail.auth import Guard
from dovetail.observability import Metrics
from tests.cluster.redis_server import running_redis
from tests.cluster.shop import STATE_KEY
from tests.patience import CAP


def read(metrics: Metrics) -> dict[str, int]:
    """The values on the page that a cluster adds."""
    before = Metrics().render().splitlines()
    added = [line for line in metrics.render().splitlines() if line not in before]
    pairs = (line.split(" ") for line in added if not line.startswith("#"))
    return {name: int(value) for name, value in pairs}


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(CAP):
        while not condition():
            await asyncio.sleep(0.01)


def test_the_page_shows_the_store_messages_and_resets(tmp_path: Path) -> None:
    async def run() -> None:
        metrics = Metrics()
        options = Options(state=redis.url, state_keys=[STATE_KEY])
        one = Server("s", options=options)
        other = Server("s", options=options)
        one.http_app(guard=Guard(metrics=metrics))
        await one.start()
        await other.start()
        begun = read(metrics)
        assert begun == {
            "dovetail_store_reachable": 1,
            # Processes that begin tell the others.
            "dovetail_cluster_messages_total": begun["dovetail_cluster_messages_total"],
            "dovetail_cluster_resets_total": 0,
            "dovetail_tasks_taken_over_total": 0,
        }
        messages = begun["dovetail_cluster_messages_total"]
        other.resource_updated("note://one")
        await wait_for(lambda: read(metrics)["dovetail_cluster_messages_total"] > messages)
        redis.kill()
        await wait_for(lambda: read(metrics)["dovetail_store_reachable"] == 0)
        redis.start()
        await wait_for(lambda: read(metrics)["dovetail_store_reachable"] == 1)
        await wait_for(lambda: read(metrics)["dovetail_cluster_resets_total"] > 0)
        await one.close()
        await other.close()

    with running_redis(tmp_path) as redis:
        asyncio.run(run())


def test_a_server_alone_has_no_such_metrics() -> None:
    metrics = Metrics()
    Server("s").http_app(guard=Guard(metrics=metrics))
    assert read(metrics) == {}
