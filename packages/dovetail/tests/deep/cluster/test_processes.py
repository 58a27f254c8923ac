"""Processes behind haproxy, which picks one at random for each request."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dovetail.client import Client
from tests.cluster import shop
from tests.cluster.listening import listening
from tests.cluster.processes import running_cluster
from tests.cluster.shop import NEWS
from tests.patience import CAP

SHOP = Path(shop.__file__)


def test_processes_serve_one_client_and_hear_of_each_others_changes(
    cluster_url: str, tmp_path: Path
) -> None:
    async def run(url: str, ports: list[int]) -> set[int]:
        async with Client(url, mode="2026-07-28", timeout=CAP) as client:
            async with listening(ports, len(ports), [NEWS]) as listeners:
                await client.call("announce")
                for listener in listeners:
                    await listener.until_told(NEWS)
                    assert listener.told == [NEWS]
            found: set[int] = set()
            async with asyncio.timeout(CAP):
                while len(found) < len(ports):
                    found.add((await client.call("where")).data)
            return found

    with running_cluster(f"{SHOP}:server", cluster_url, tmp_path) as cluster:
        found = asyncio.run(run(cluster.url, [each.port for each in cluster.processes]))
        assert found == {each.popen.pid for each in cluster.processes}
