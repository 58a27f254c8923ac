"""Legacy sessions while Redis is away, and afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from tests.cluster.in_process import serving_cluster
from tests.cluster.legacy_client import INITIALIZE, LegacyClient
from tests.cluster.redis_server import running_redis
from tests.cluster.shop import make_shop
from tests.patience import CAP


def test_sessions_are_served_again_when_redis_can_be_reached_again(tmp_path: Path) -> None:
    async def run() -> None:
        with running_redis(tmp_path / "redis") as redis:
            async with (
                asyncio.timeout(CAP),
                serving_cluster(make_shop, redis.url) as cluster,
                httpx.AsyncClient(timeout=CAP) as http,
            ):
                client = LegacyClient(http, cluster.urls)
                await client.start(0)
                await client.ready(0)
                await client.post(0, "resources/subscribe", {"uri": "shop://news"})
                await asyncio.to_thread(redis.pause)
                # Nobody can know the session, and must not say that it has ended.
                for at in (0, 1):
                    refused = await client.call(at, "add", a=1, b=2)
                    assert refused.status_code == 503
                    assert refused.headers["retry-after"] == "1"
                    assert "shared store" in refused.json()["error"]["message"]
                changed = await client.post(0, "resources/subscribe", {"uri": "shop://other"})
                assert changed.status_code == 503
                stranger = LegacyClient(http, cluster.urls)
                started = await stranger.post(0, "initialize", INITIALIZE)
                assert started.status_code == 503
                redis.resume()
                while (answer := await client.call(1, "add", a=1, b=2)).status_code != 200:
                    assert answer.status_code == 503, answer.text
                    await asyncio.sleep(0.01)
                async with client.stream(1) as events:
                    cluster.servers[0].resource_updated("shop://news")
                    async for _, data in events:
                        if "shop://news" in data:
                            break

    asyncio.run(run())
