"""A connection to Redis that is made again when it is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import StoreError
from dovetail.state.redis_url import RedisUrl, parse_url
from dovetail.stores.redis import client as client_module
from dovetail.stores.redis.client import RedisClient
from dovetail.stores.redis.connection import RedisConnection, connect
from dovetail.stores.redis.resp import Script
from tests.cluster.processes import free_port
from tests.cluster.redis_server import RedisServer, running_redis
from tests.unit.fakes import drive


@asynccontextmanager
async def opened(client: RedisClient) -> AsyncIterator[RedisClient]:
    await client.open()
    try:
        yield client
    finally:
        await client.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_commands_are_answered(redis_server: RedisServer) -> None:
    async def run() -> None:
        async with opened(RedisClient(parse_url(redis_server.url))) as client:
            assert client.problem is None
            client.post("SET", "client", 1)
            assert await client.do("GET", "client") == b"1"
            assert await client.send("DEL", "client") == 1
        with pytest.raises(StoreError, match="the server has been closed"):
            await client.do("GET", "client")
        with pytest.raises(StoreError, match="the server has been closed"):
            client.post("GET", "client")

    drive(run())


def test_a_script_is_sent_once(redis_server: RedisServer) -> None:
    script = Script("return {KEYS[1], ARGV[1] + 1}")
    redis_server.command("SCRIPT", "FLUSH")

    async def run() -> None:
        async with opened(RedisClient(parse_url(redis_server.url))) as client:
            assert await client.run(script, ["key"], [1]) == [b"key", 2]
            assert await client.do("SCRIPT", "EXISTS", script.digest) == [1]
            assert await client.run(script, ["key"], [2]) == [b"key", 3]
            with pytest.raises(StoreError, match="arithmetic"):
                await client.run(script, ["key"])

    drive(run())


def test_an_unreachable_redis_is_found_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = RedisServer(tmp_path)
    attempts: list[RedisUrl] = []

    def count(url: RedisUrl, *rest: Any) -> Awaitable[RedisConnection]:
        attempts.append(url)
        return connect(url, *rest)

    monkeypatch.setattr(client_module, "connect", count)

    async def run() -> None:
        async with opened(RedisClient(parse_url(server.url))) as client:
            assert client.problem is not None and "cannot connect to" in client.problem
            with pytest.raises(StoreError, match="cannot connect to"):
                await client.do("PING")
            await until(lambda: len(attempts) > 2)
            assert [each.levelno for each in caplog.records] == [logging.ERROR]
            await asyncio.to_thread(server.start)
            await until(lambda: client.problem is None)
            assert await client.do("PING") == b"PONG"

    try:
        drive(run())
    finally:
        server.stop()


def test_a_lost_connection_fails_commands_at_once_and_is_made_again(tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        async with opened(RedisClient(parse_url(server.url))) as client:
            assert client.seconds_since_return > 1e9
            server.pause()
            waiting = client.send("PING")
            server.kill()
            with pytest.raises(StoreError, match="the connection was lost"):
                await waiting
            await until(lambda: client.problem is not None)
            with pytest.raises(StoreError):
                client.send("PING")
            await asyncio.to_thread(server.start)
            await until(lambda: client.problem is None)
            assert await client.do("PING") == b"PONG"
            assert client.seconds_since_return < 1e9

    with running_redis(tmp_path) as server:
        drive(run(server))


def test_a_redis_that_hangs_fails_commands_after_the_timeout(tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        async with opened(RedisClient(parse_url(server.url), timeout=0.1)) as client:
            server.pause()
            with pytest.raises(StoreError, match=r"no answer within 0\.1 seconds"):
                await client.do("PING")
            await until(lambda: "does not answer" in (client.problem or ""))
            server.resume()
            await until(lambda: client.problem is None)
            assert await client.do("PING") == b"PONG"

    with running_redis(tmp_path) as server:
        drive(run(server))


def test_a_server_that_has_become_a_replica_is_left(tmp_path: Path) -> None:
    """After a failover, the address may lead to another server."""

    async def run(server: RedisServer) -> None:
        prepared: list[RedisConnection] = []

        async def prepare(connection: RedisConnection) -> None:
            prepared.append(connection)
            await connection.send(("SET", "key", 1))

        async with opened(RedisClient(parse_url(server.url), prepare=prepare)) as client:
            server.command("REPLICAOF", "127.0.0.1", str(free_port()))
            with pytest.raises(StoreError, match="READONLY"):
                await client.do("SET", "key", 2)
            await until(lambda: "READONLY" in (client.problem or ""))
            server.command("REPLICAOF", "NO", "ONE")
            await until(lambda: client.problem is None)
            assert await client.do("GET", "key") == b"1"
            assert len(prepared) >= 2

    with running_redis(tmp_path) as server:
        drive(run(server))


@pytest.mark.parametrize("moment", ["while connecting", "while waiting", "when connected"])
def test_closing_leaves_nothing_behind(moment: str, tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        if moment == "while connecting":
            server.pause()
        elif moment == "while waiting":
            server.kill()
        client = RedisClient(parse_url(server.url))
        opening = asyncio.create_task(client.open())
        if moment == "while connecting":
            await asyncio.sleep(0.05)
            opening.cancel()
        await asyncio.wait([opening])
        await client.close()
        await client.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with running_redis(tmp_path) as server:
        drive(run(server))
