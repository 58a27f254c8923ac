"""The messages for one node, from two Redis streams."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dovetail.errors import StoreError
from dovetail.state.redis_url import parse_url
from dovetail.stores.redis import feed as feed_module
from dovetail.stores.redis.connection import RedisConnection, connect
from dovetail.stores.redis.feed import RedisFeed, parse_id
from tests.cluster.redis_server import RedisServer, running_redis
from tests.patience import CAP
from tests.unit.fakes import drive, settle

BUS, INBOX = b"bus", b"inbox"


class Reader:
    """A feed and what it has read."""

    def __init__(self, server: RedisServer) -> None:
        self.messages: asyncio.Queue[bytes] = asyncio.Queue()
        self.events: list[str] = []
        # Cleared: the feed does not get past the check of the contents.
        self.may_connect = asyncio.Event()
        self.may_connect.set()
        self.feed = RedisFeed(
            parse_url(server.url),
            (BUS, INBOX),
            self._take,
            lambda: self.events.append("reset"),
            lambda: self.events.append("emptied"),
            self._identify,
        )

    def _take(self, fields: dict[bytes, bytes]) -> None:
        self.messages.put_nowait(fields[b"m"])
        if fields[b"m"] == b"bad":
            raise ValueError("a handler failed")

    async def _identify(self, connection: RedisConnection) -> bytes:
        await self.may_connect.wait()
        await connection.send(("SET", "contents", secrets.token_hex(4), "NX"))
        found: bytes = await connection.send(("GET", "contents"))
        return found

    async def read(self) -> bytes:
        return await asyncio.wait_for(self.messages.get(), CAP)

    async def until_event(self, event: str) -> None:
        while event not in self.events:
            await asyncio.sleep(0.01)

    async def cut_off(self, server: RedisServer) -> None:
        """Lose the connection; there is no other one before `may_connect` is set."""
        self.may_connect.clear()
        server.command("CLIENT", "KILL", "TYPE", "normal")
        while self.feed.problem is None:
            await asyncio.sleep(0.01)


@asynccontextmanager
async def reading(server: RedisServer) -> AsyncIterator[Reader]:
    """A reader of new messages."""
    server.command("FLUSHALL")
    add(server, BUS, b"from before")
    reader = Reader(server)
    await reader.feed.open()
    try:
        yield reader
    finally:
        await reader.feed.close()


def add(server: RedisServer, stream: bytes, message: bytes) -> None:
    server.command("XADD", stream.decode(), "*", "m", message.decode())


def run_with(
    server: RedisServer, scenario: Callable[[Reader, RedisServer], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with reading(server) as reader:
            await scenario(reader, server)

    drive(run())


def test_messages_of_both_streams_are_delivered_in_order(redis_server: RedisServer) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        for number in range(3):
            add(server, BUS, b"bus %d" % number)
            add(server, INBOX, b"inbox %d" % number)
        got = [await reader.read() for _ in range(6)]
        for name in (b"bus", b"inbox"):
            assert [each for each in got if each.startswith(name)] == [
                b"%b %d" % (name, number) for number in range(3)
            ]
        assert reader.events == []

    run_with(redis_server, scenario)


def test_a_failing_handler_does_not_end_the_feed(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        add(server, BUS, b"bad")
        add(server, BUS, b"good")
        assert [await reader.read(), await reader.read()] == [b"bad", b"good"]

    run_with(redis_server, scenario)
    assert "a message of another process could not be handled" in caplog.text


def test_nothing_is_lost_with_a_connection(redis_server: RedisServer) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        add(server, BUS, b"first")
        assert await reader.read() == b"first"
        await reader.cut_off(server)
        add(server, BUS, b"second")
        add(server, INBOX, b"third")
        reader.may_connect.set()
        assert {await reader.read(), await reader.read()} == {b"second", b"third"}
        assert "emptied" not in reader.events

    run_with(redis_server, scenario)


def test_messages_that_were_trimmed_are_noticed(redis_server: RedisServer) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        add(server, BUS, b"first")
        assert await reader.read() == b"first"
        await reader.cut_off(server)
        for number in range(3):
            add(server, BUS, b"%d" % number)
        server.command("XTRIM", "bus", "MAXLEN", "1")
        reader.may_connect.set()
        assert await reader.read() == b"2"
        assert reader.events == ["reset"]

    run_with(redis_server, scenario)


def test_messages_that_were_trimmed_while_the_reader_was_behind_are_noticed(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "_BATCH", 1)

    async def scenario(reader: Reader, server: RedisServer) -> None:
        # The reader cannot run before both are done.
        add(server, BUS, b"first")
        server.command("XTRIM", "bus", "MAXLEN", "0")
        add(server, BUS, b"second")
        await reader.until_event("reset")

    run_with(redis_server, scenario)


def test_a_full_first_batch_is_no_loss(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "_BATCH", 1)

    async def scenario(reader: Reader, server: RedisServer) -> None:
        for number in range(3):
            add(server, INBOX, b"%d" % number)
        assert [await reader.read() for _ in range(3)] == [b"0", b"1", b"2"]
        add(server, BUS, b"last")
        assert await reader.read() == b"last"
        assert reader.events == []

    run_with(redis_server, scenario)


def test_a_redis_that_came_back_empty_is_noticed(tmp_path: Path) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        add(server, INBOX, b"first")
        assert await reader.read() == b"first"
        reader.may_connect.clear()
        server.kill()
        await asyncio.to_thread(server.start)
        # Others may have written already.
        server.command("SET", "contents", "new")
        add(server, BUS, b"second")
        reader.may_connect.set()
        assert await reader.read() == b"second"
        assert reader.events == ["emptied", "reset"]

    with running_redis(tmp_path) as server:
        run_with(server, scenario)


def test_contents_that_are_deleted_are_noticed_without_a_message(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "_BLOCK_MS", 10)

    async def scenario(reader: Reader, server: RedisServer) -> None:
        server.command("FLUSHALL")
        await reader.until_event("reset")
        assert reader.events == ["emptied", "reset"]

    run_with(redis_server, scenario)


def test_a_stream_that_has_lost_messages_is_noticed(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica that was behind and has taken over, or an inbox that has expired."""
    monkeypatch.setattr(feed_module, "_BLOCK_MS", 10)

    async def scenario(reader: Reader, server: RedisServer) -> None:
        add(server, INBOX, b"first")
        assert await reader.read() == b"first"
        server.command("DEL", "inbox")
        await reader.until_event("reset")
        assert reader.events == ["reset"]

    run_with(redis_server, scenario)


# -- waiting for a message ------------------------------------------------------------------------


def test_reached_waits_until_a_message_was_read(redis_server: RedisServer) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        writer = await connect(parse_url(server.url), CAP)
        first = await writer.send(("XADD", BUS, "*", "m", "first"))
        await reader.feed.reached(first)
        assert reader.messages.get_nowait() == b"first"
        await reader.feed.reached(first)
        future = b"%d-0" % (parse_id(first)[0] + 1_000_000)
        waiting = asyncio.create_task(reader.feed.reached(future))
        given_up = asyncio.create_task(reader.feed.reached(future))
        await settle()
        given_up.cancel()
        await reader.cut_off(server)
        with pytest.raises(StoreError, match="connection was lost"):
            await waiting
        with pytest.raises(StoreError, match="messages of other processes cannot be received"):
            await reader.feed.reached(first)
        await writer.close("enough")

    run_with(redis_server, scenario)


def test_a_key_of_another_type_is_reported(redis_server: RedisServer) -> None:
    async def scenario(reader: Reader, server: RedisServer) -> None:
        await reader.cut_off(server)
        server.command("SET", "bus", "a string")
        reader.may_connect.set()
        while "WRONGTYPE" not in (reader.feed.problem or ""):
            await asyncio.sleep(0.01)
        server.command("DEL", "bus")
        while reader.feed.problem is not None:
            await asyncio.sleep(0.01)

    run_with(redis_server, scenario)


def test_an_id_is_two_numbers() -> None:
    assert parse_id(b"1700000000000-12") == (1_700_000_000_000, 12)
    assert parse_id(b"9-1") < parse_id(b"10-0")
