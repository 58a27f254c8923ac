"""Messages between the nodes of a cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dovetail.errors import StoreError
from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode
from tests.cluster.redis_server import RedisServer, running_redis
from tests.patience import CAP, pass_time
from tests.unit.fakes import drive


@asynccontextmanager
async def two_nodes(url: str) -> AsyncIterator[tuple[RedisNode, RedisNode]]:
    one, other = RedisNode(parse_url(url), "test"), RedisNode(parse_url(url), "test")
    async with one.opened(), other.opened():
        yield one, other


def test_a_message_reaches_the_other_nodes_once(cluster_url: str) -> None:
    async def run() -> None:
        got: asyncio.Queue[bytes] = asyncio.Queue()
        async with two_nodes(cluster_url) as (one, other):
            one.on_message("topic", lambda node, message: got.put_nowait(b"own"))
            other.on_message("topic", lambda node, message: got.put_nowait(message))
            await one.publish_and_wait("topic", b"first")
            one.publish("topic", b"second")
            assert await asyncio.wait_for(got.get(), CAP) == b"first"
            assert await asyncio.wait_for(got.get(), CAP) == b"second"
            assert got.empty()

    drive(run())


def test_a_request_is_answered_by_one_node(cluster_url: str) -> None:
    async def answer(node: str, message: bytes) -> bytes:
        if not message:
            raise StoreError("nothing to answer")
        return message.upper()

    async def run() -> None:
        async with two_nodes(cluster_url) as (one, other):
            other.on_request("shout", answer)
            assert await other.request(other.node, "shout", b"me") == b"ME"
            assert await one.request(other.node, "shout", b"hello") == b"HELLO"
            with pytest.raises(StoreError, match="nothing to answer"):
                await one.request(other.node, "shout", b"")
            with pytest.raises(StoreError, match="does not know 'whisper'"):
                await one.request(other.node, "whisper", b"hello")
            await other.close()
            with pytest.raises(StoreError, match="has ended"):
                await one.request(other.node, "shout", b"hello")

    drive(run())


def test_two_clusters_in_one_redis_do_not_see_each_other(redis_server: RedisServer) -> None:
    async def run() -> None:
        got: list[bytes] = []
        url = redis_server.url
        async with (
            two_nodes(f"{url}?name=a") as (one, _),
            two_nodes(f"{url}?name=b") as (stranger, _),
        ):
            stranger.on_message("topic", lambda node, message: got.append(message))
            await one.publish_and_wait("topic", b"first")
            await stranger.publish_and_wait("topic", b"later")
            assert not got
            assert not await one.is_alive(stranger.node)

    drive(run())


def test_records_of_another_version_are_refused(redis_server: RedisServer) -> None:
    redis_server.command("SET", "dovetail:newer/test:format", "2")

    async def run() -> None:
        node = RedisNode(parse_url(f"{redis_server.url}?name=newer"), "test")
        async with node.opened():
            assert node.problem is not None and "format 2, this version needs 1" in node.problem
            with pytest.raises(StoreError, match="use the same version"):
                await node.client.do("PING")

    drive(run())


def test_a_foreign_key_is_not_overwritten(redis_server: RedisServer) -> None:
    redis_server.command("RPUSH", "dovetail:foreign/test:format", "1")

    async def run() -> None:
        node = RedisNode(parse_url(f"{redis_server.url}?name=foreign"), "test")
        async with node.opened():
            assert node.problem is not None and "WRONGTYPE" in node.problem
        assert redis_server.command("LLEN", "dovetail:foreign/test:format") == b":1\r\n"

    drive(run())


def test_all_keys_expire_but_the_format(cluster_url: str) -> None:
    async def run() -> None:
        async with two_nodes(cluster_url) as (one, other):
            await one.publish_and_wait("topic", b"first")
            one.send(other.node, "topic", b"second")
            # No node has this name, so nothing may be stored for it.
            one.send("nobody", "topic", b"third")
            await until_reported(one)
            names = await one.client.do("KEYS", one.key("*"))
            kinds = {name.decode().split(":")[2] for name in names}
            assert kinds == {"format", "bus", "inbox", "node"}
            assert not any(b"nobody" in name for name in names)
            for name in names:
                has_ttl = await one.client.do("PTTL", name) > 0
                assert has_ttl is (b":format" not in name), name

    drive(run())


async def until_reported(node: RedisNode) -> None:
    while await node.client.do("PTTL", node.key("bus")) < 0:
        await asyncio.sleep(0.01)


def test_messages_are_published_from_any_thread(cluster_url: str) -> None:
    async def run() -> None:
        got: asyncio.Queue[bytes] = asyncio.Queue()
        async with two_nodes(cluster_url) as (one, other):
            other.on_message("topic", lambda node, message: got.put_nowait(message))
            await asyncio.to_thread(one.publish, "topic", b"from a thread")
            assert await asyncio.wait_for(got.get(), CAP) == b"from a thread"

    node = RedisNode(parse_url(cluster_url), "test")
    # Before the first start and after the loop has ended there is nobody to send it.
    node.publish("topic", b"lost")
    drive(run())


def test_a_closed_loop_does_not_trouble_the_publisher(cluster_url: str) -> None:
    node = RedisNode(parse_url(cluster_url), "test")

    async def run() -> None:
        async with node.opened():
            pass

    drive(run())
    thread = threading.Thread(target=node.publish, args=("topic", b"late"))
    thread.start()
    thread.join(CAP)
    node.publish("topic", b"late")


def test_all_handlers_run_after_one_has_failed(
    cluster_url: str, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        done = asyncio.Event()

        def fail() -> None:
            raise ValueError("a handler failed")

        async with two_nodes(cluster_url) as (one, _):
            for register in (one.on_emptied, one.on_reset):
                register(fail)
            one.on_reset(done.set)
            redis_server.command("FLUSHALL")
            await asyncio.wait_for(done.wait(), CAP)
            assert "a handler of lost messages failed" in caplog.text

    drive(run())


# -- faults ---------------------------------------------------------------------------------------


def test_others_are_reset_if_a_message_could_not_be_sent(tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        done = asyncio.Event()
        async with two_nodes(server.url) as (one, other):
            other.on_reset(done.set)
            # Nothing else of the node fails: what is stored needs no more memory.
            server.command("CONFIG", "SET", "maxmemory", "1")
            one.publish("topic", b"lost")
            with pytest.raises(StoreError, match="OOM"):
                await one.publish_and_wait("topic", b"lost")
            server.command("CLIENT", "KILL", "TYPE", "normal")
            while one.problem is None:
                await asyncio.sleep(0.01)
            while one.problem is not None:
                await asyncio.sleep(0.01)
            assert await one.is_alive(other.node)
            assert not done.is_set()
            server.command("CONFIG", "SET", "maxmemory", "0")
            await asyncio.wait_for(done.wait(), CAP)

    with running_redis(tmp_path) as server:
        drive(run(server))


def test_a_request_fails_if_redis_goes_away(tmp_path: Path) -> None:
    async def answer(node: str, message: bytes) -> bytes:
        started.set()
        await asyncio.Event().wait()
        return b""

    async def run(server: RedisServer) -> None:
        async with two_nodes(server.url) as (one, other):
            other.on_request("wait", answer)
            asked = asyncio.create_task(one.request(other.node, "wait", b""))
            await asyncio.wait_for(started.wait(), CAP)
            server.kill()
            with pytest.raises(StoreError):
                await asked

    started = asyncio.Event()
    with running_redis(tmp_path) as server:
        drive(run(server))


def test_a_request_to_a_process_that_was_killed_fails(
    cluster_url: str, redis_server: RedisServer
) -> None:
    async def run() -> None:
        async with two_nodes(cluster_url) as (one, _):
            # What a killed process leaves: it was alive a moment ago.
            await one.client.do("SET", one.key("node", "killed"), 1, "PX", 300)
            await one.client.do("XADD", one.key("inbox", "killed"), "*", "n", "", "t", "", "m", "")
            with pytest.raises(StoreError, match="has ended"):
                await one.request("killed", "topic", b"")

    drive(run())


def test_an_answer_is_sent_again_if_the_connection_was_lost(
    cluster_url: str, redis_server: RedisServer
) -> None:
    async def run() -> None:
        async with two_nodes(cluster_url) as (one, other):

            async def answer(node: str, message: bytes) -> bytes:
                redis_server.command("CLIENT", "KILL", "TYPE", "normal")
                while other.client.problem is None:
                    await asyncio.sleep(0)
                return message

            other.on_request("echo", answer)
            while True:
                # The node that asks loses its connection as well, and may notice that.
                try:
                    assert await one.request(other.node, "echo", b"hello") == b"hello"
                    break
                except StoreError:
                    await asyncio.sleep(0.1)

    drive(run())


def test_nobody_is_declared_dead_right_after_redis_came_back(tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        async with two_nodes(server.url) as (one, _):
            assert not await one.is_alive("other")
            server.kill()
            await asyncio.to_thread(server.start)
            while one.problem is not None:
                await asyncio.sleep(0.01)
            # It had no chance to report yet.
            assert await one.is_alive("other")
            pass_time(10)
            assert not await one.is_alive("other")

    with running_redis(tmp_path) as server:
        drive(run(server))


def test_a_node_can_be_opened_again(cluster_url: str) -> None:
    async def run() -> None:
        got: asyncio.Queue[bytes] = asyncio.Queue()
        events: list[str] = []
        async with two_nodes(cluster_url) as (one, other):
            one.on_message("topic", lambda node, message: got.put_nowait(message))
            one.on_reset(lambda: events.append("reset"))
            await other.publish_and_wait("topic", b"first")
            await one.close()
            assert one.problem is not None and "has been closed" in one.problem
            await other.publish_and_wait("topic", b"second")
            await one.open()
            await other.publish_and_wait("topic", b"third")
            assert [await got.get(), await got.get()] == [b"first", b"third"]
            assert events == []

    drive(run())
