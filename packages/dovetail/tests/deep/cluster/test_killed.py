"""What clients of a process get from the others after it has ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from tests.cluster import shop
from tests.cluster.legacy_client import LegacyClient
from tests.cluster.processes import ProcessCluster, running_cluster
from tests.patience import CAP

SHOP = Path(shop.__file__)
Scenario = Callable[[LegacyClient, ProcessCluster], Awaitable[None]]


def run(cluster_url: str, folder: Path, scenario: Scenario) -> None:
    async def main(cluster: ProcessCluster) -> None:
        urls = [process.url for process in cluster.processes]
        async with asyncio.timeout(CAP), httpx.AsyncClient(timeout=CAP) as http:
            client = LegacyClient(http, urls)
            await client.start(0)
            await client.ready(0)
            await scenario(client, cluster)

    with running_cluster(f"{SHOP}:server", cluster_url, folder) as cluster:
        asyncio.run(main(cluster))


def test_a_call_of_a_killed_process_fails_clearly_and_keeps_its_events(
    cluster_url: str, tmp_path: Path
) -> None:
    async def scenario(client: LegacyClient, cluster: ProcessCluster) -> None:
        async with client.streamed_call(0, "count", number=3, gap=0.0) as events:
            told = [data async for _, data in events if data]
        assert len(told) == 4
        ids: list[str] = []
        async with client.streamed_call(0, "count", number=1000, gap=0.01) as events:
            async for id, data in events:
                if data:
                    ids.append(id)
                if len(ids) == 5:
                    break
        cluster.processes[0].kill()
        async with client.stream(1, **{"last-event-id": ids[2]}) as events:
            rest = [(id, json.loads(data)) async for id, data in events if data]
        assert [id for id, _ in rest][:2] == ids[3:5]
        progress = [each["params"]["progress"] for _, each in rest if "params" in each]
        assert progress == list(range(4, 4 + len(progress)))
        [failure] = [each for _, each in rest if "error" in each]
        assert failure["id"] == "call"
        assert "has ended; send it again" in failure["error"]["message"]
        # The session goes on.
        answer = await client.call(1, "add", a=1, b=2)
        assert answer.json()["result"]["structuredContent"] == {"result": 3}

    run(cluster_url, tmp_path, scenario)


def test_a_stream_that_is_read_elsewhere_ends_when_its_process_is_killed(
    cluster_url: str, tmp_path: Path
) -> None:
    async def scenario(client: LegacyClient, cluster: ProcessCluster) -> None:
        last = ""
        async with client.streamed_call(0, "count", number=1000, gap=0.01) as events:
            async for id, data in events:
                if data:
                    last = id
                    break
        killed = False
        async with client.stream(1, **{"last-event-id": last}) as events:
            async for _, data in events:
                if not killed:
                    cluster.processes[0].kill()
                    killed = True
                elif '"error"' in data:
                    assert "has ended; send it again" in data
                    return
        raise AssertionError("the stream ended without a response")

    run(cluster_url, tmp_path, scenario)


def test_the_stream_of_a_session_goes_on_in_another_process(
    cluster_url: str, tmp_path: Path
) -> None:
    async def scenario(client: LegacyClient, cluster: ProcessCluster) -> None:
        last = ""
        async with client.stream(0) as events:
            await client.post(1, "resources/subscribe", {"uri": "shop://news"})
            await client.call(1, "announce")
            async for id, data in events:
                last = id
                if "shop://news" in data:
                    break
        cluster.processes[0].kill()
        async with client.stream(1, **{"last-event-id": last}) as events:
            told: list[str] = []
            async for _, data in events:
                told.append(data)
                # What may have been missed is announced, and then what really changes.
                if "shop://news" in data and len([d for d in told if "shop://news" in d]) == 1:
                    await client.call(1, "announce")
                elif "shop://news" in data:
                    break
            assert any("resources/list_changed" in data for data in told)

    run(cluster_url, tmp_path, scenario)


def test_a_response_is_fetched_after_its_process_was_stopped(
    cluster_url: str, tmp_path: Path
) -> None:
    async def scenario(client: LegacyClient, cluster: ProcessCluster) -> None:
        ids: list[str] = []
        async with client.streamed_call(0, "count", number=3, gap=0.0) as events:
            async for id, data in events:
                if data:
                    ids.append(id)
        cluster.processes[0].stop()
        async with client.stream(1, **{"last-event-id": ids[1]}) as events:
            rest = [(id, data) async for id, data in events if data]
        assert [id for id, _ in rest] == ids[2:]
        assert "counted to 3" in rest[-1][1]

    run(cluster_url, tmp_path, scenario)
