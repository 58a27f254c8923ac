"""Revoked keys: known to all nodes, after faults as well."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dovetail.errors import LimitError, StoreError
from dovetail.stores.redis import revocations as module
from dovetail.stores.redis.redis_stores import RedisStores
from tests.cluster.redis_server import running_redis
from tests.unit.fakes import drive


async def knows(stores: RedisStores, id: str) -> None:
    while id not in stores.revocations:
        await asyncio.sleep(0.01)


def test_all_nodes_know_a_revoked_key_those_that_start_later_too(cluster_url: str) -> None:
    async def run() -> None:
        one, other, later = (RedisStores(cluster_url, "test") for _ in range(3))
        async with one.opened(), other.opened():
            await one.revocations.revoke("a1", None)
            await one.revocations.revoke("a2", time.time() + 1000)
            assert "a1" in one.revocations
            await knows(other, "a1")
            await knows(other, "a2")
            assert "a3" not in other.revocations
            async with later.opened():
                assert "a1" in later.revocations and "a2" in later.revocations

    drive(run())


def test_entries_of_expired_keys_are_dropped_and_their_number_is_limited(
    cluster_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_REVOKED", 2)

    async def run() -> None:
        stores = RedisStores(cluster_url, "test")
        async with stores.opened():
            revoke = stores.revocations.revoke
            await revoke("a1", time.time() - 1)
            await revoke("a2", None)
            await revoke("a3", None)
            await revoke("a3", None)
            with pytest.raises(LimitError, match="2 revoked keys in the cluster"):
                await revoke("a4", None)
            found = await stores.cluster.client.do("ZRANGE", stores.cluster.key("revoked"), 0, -1)
            assert found == [b"a2", b"a3"]

    drive(run())


def test_a_redis_that_lost_its_contents_gets_them_back(tmp_path: Path) -> None:
    async def run() -> None:
        with running_redis(tmp_path / "redis") as server:
            one, other = (RedisStores(server.url, "test") for _ in range(2))
            async with one.opened():
                await one.revocations.revoke("a1", None)
                server.kill()
                server.start()
                client = one.cluster.client
                while True:
                    with suppress(StoreError):
                        if await client.do("ZCARD", one.cluster.key("revoked")):
                            break
                    await asyncio.sleep(0.01)
                async with other.opened():
                    assert "a1" in other.revocations

    drive(run())


def test_a_process_that_starts_without_redis_reads_the_keys_later(tmp_path: Path) -> None:
    async def run() -> None:
        with running_redis(tmp_path / "redis") as server:
            one, other = (RedisStores(server.url, "test") for _ in range(2))
            server.kill()
            async with one.opened():
                with pytest.raises(StoreError):
                    await one.revocations.revoke("a1", None)
                server.start()
                async with other.opened():
                    await other.revocations.revoke("a2", None)
                await knows(one, "a2")
                assert "a1" not in one.revocations

    drive(run())
