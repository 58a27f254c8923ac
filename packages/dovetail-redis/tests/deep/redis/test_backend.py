"""The backend on Redis: through the public kit, and when Redis fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from dovetail.errors import StoreError
from dovetail.state import Backend, Published
from dovetail.testing import BackendTests
from dovetail_redis import RedisBackend
from tests.cluster.redis_server import RedisServer, running_redis
from tests.patience import CAP

LOST = Published("", None)


class TestRedis(BackendTests):
    @pytest.fixture(autouse=True)
    def _use(self, cluster_url: str) -> None:
        self.url = cluster_url

    def make_backend(self) -> Backend:
        return RedisBackend(self.url)


def restart(server: RedisServer) -> None:
    server.kill()
    server.start()


def reset(server: RedisServer) -> None:
    server.command("CLIENT", "KILL", "TYPE", "pubsub")


@pytest.mark.parametrize("fault", [restart, reset])
def test_lost_messages_are_told(tmp_path: Path, fault: Callable[[RedisServer], None]) -> None:
    async def run(server: RedisServer) -> None:
        async with (
            asyncio.timeout(CAP),
            RedisBackend(server.url).opened() as backend,
            backend.subscribe("a") as messages,
            backend.subscribe("a") as second,
        ):
            fault(server)
            assert await anext(messages) == LOST
            assert await anext(second) == LOST
            await backend.publish("a", b"1")
            assert await anext(messages) == Published("a", b"1")

    with running_redis(tmp_path) as server:
        asyncio.run(run(server))


async def is_set(backend: Backend) -> bool:
    try:
        return await backend.set("key", b"3") is not None
    except StoreError:
        return False


def test_without_redis_everything_fails_and_nothing_hangs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(server: RedisServer) -> None:
        server.kill()
        async with (
            asyncio.timeout(CAP),
            RedisBackend(server.url).opened() as backend,
            backend.subscribe("a") as messages,
        ):
            with pytest.raises(StoreError, match="Error 111"):
                await backend.set("key", b"1")
            server.start()
            assert await anext(messages) == LOST
            assert await backend.set("key", b"1") is not None
            server.pause()
            # The second one fails at once, because the first one got no answer.
            for _ in range(2):
                with pytest.raises(StoreError):
                    await backend.set("key", b"2")
            while backend._pubsub is not None:
                await asyncio.sleep(0.01)
            server.resume()
            assert await anext(messages) == LOST
            while not await is_set(backend):
                await asyncio.sleep(0.01)

    with running_redis(tmp_path) as server:
        asyncio.run(run(server))
    # Each of the two outages is logged once for commands and once for messages.
    assert len([each for each in caplog.records if each.levelname == "ERROR"]) <= 4


def test_a_full_redis_and_a_replica_refuse_writes(tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        async with RedisBackend(server.url).opened() as backend, asyncio.timeout(CAP):
            await backend.set("key", b"1")
            server.command("CONFIG", "SET", "maxmemory", "1")
            with pytest.raises(StoreError, match="maxmemory"):
                await backend.set("key", b"2")
            server.command("CONFIG", "SET", "maxmemory", "0")
            server.command("REPLICAOF", "127.0.0.1", "1")
            server.command("CONFIG", "SET", "replica-serve-stale-data", "yes")
            with pytest.raises(StoreError):
                await backend.set("key", b"2")
            server.command("REPLICAOF", "NO", "ONE")
            assert await backend.set("key", b"2") is not None

    with running_redis(tmp_path) as server:
        asyncio.run(run(server))


def test_names_separate_backends(cluster_url: str) -> None:
    async def run() -> None:
        other = RedisBackend(f"{cluster_url}x")
        async with (
            asyncio.timeout(CAP),
            other.opened(),
            RedisBackend(cluster_url).opened() as backend,
            backend.subscribe("a") as messages,
        ):
            await other.set("key", b"1")
            await other.publish("a", b"theirs")
            await backend.publish("a", b"own")
            assert await backend.get("key") is None
            assert await anext(messages) == Published("a", b"own")

    asyncio.run(run())
