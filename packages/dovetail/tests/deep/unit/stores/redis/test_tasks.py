"""The task store on Redis: leases, order of saves, answers, and what it leaves behind.

What it has in common with other stores is in unit/stores/test_tasks.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail.errors import StoreError
from dovetail.state.redis_url import parse_url
from dovetail.stores.redis import tasks as module
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.tasks import RedisTasks
from dovetail.stores.tasks import TaskRow
from tests.cluster.redis_server import RedisServer
from tests.patience import CAP
from tests.unit.stores.task_stores import FUTURE, make_row
from tests.unit.talk import run


class Worker:
    """A process with tasks, and what others have told it."""

    def __init__(self, url: str) -> None:
        self.node = RedisNode(parse_url(url), "test")
        self.tasks = RedisTasks(self.node)
        self.heard: asyncio.Queue[Any] = asyncio.Queue()
        put = self.heard.put_nowait
        self.tasks.listen(put, put, lambda: put("reset"))

    async def save(self, **members: Any) -> bool:
        return await self.tasks.save(make_row(**members), self.tasks.next_turn())

    async def die(self) -> None:
        assert self.node._beat is not None
        self.node._beat.cancel()
        await self.node.client.do("DEL", self.node.key("node", self.node.node))

    async def row(self) -> TaskRow:
        row = await self.tasks.get("a")
        assert row is not None
        return row


@asynccontextmanager
async def two_workers(url: str) -> AsyncIterator[tuple[Worker, Worker]]:
    one, other = Worker(url), Worker(url)
    async with one.node.opened(), other.node.opened():
        yield one, other


def test_only_the_holder_saves_and_everybody_may_cancel(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(), 10)
            assert not await other.save(status="completed")
            assert not await other.save(message="m", worker=other.tasks.worker)
            assert await one.save(message="n")
            assert await other.save(status="cancelled")
            found = await one.row()
            assert (found.status, found.worker) == ("cancelled", one.tasks.worker)
            assert not await one.save(message="o")
            assert await one.tasks.lost(["a"]) == ["a"]
            assert await one.tasks.lost([]) == []

    run(scenario())


def test_a_save_that_was_overtaken_changes_nothing(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, _):
            await one.tasks.add(make_row(), 10)
            early, late = one.tasks.next_turn(), one.tasks.next_turn()
            assert await one.tasks.save(make_row(record=b"two steps"), late)
            # It does not have to be tried again.
            assert await one.tasks.save(make_row(record=b"one step"), early)
            assert (await one.row()).record == b"two steps"

    run(scenario())


def test_tasks_are_taken_over_when_their_holder_is_missing_for_a_while(
    cluster_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(record=b"r"), 10)
            monkeypatch.setattr(module, "_MISSING_SECONDS", CAP)
            assert await other.tasks.adopt([]) == []
            await one.die()
            # It was not missing when this process looked last.
            assert await other.tasks.adopt([]) == []
            monkeypatch.setattr(module, "_MISSING_SECONDS", 0.0)
            [row] = await other.tasks.adopt([])
            assert (row.id, row.record, row.worker) == ("a", b"r", other.tasks.worker)
            assert await other.tasks.adopt(["a"]) == []
            assert not await one.save(status="completed")
            assert await one.tasks.lost(["a"]) == ["a"]
            assert await other.save(status="completed")
            assert await other.tasks.adopt([]) == []
            assert not await one.node.client.do("EXISTS", one.node.key("tasks", "workers"))

    run(scenario())


def test_a_holder_that_reports_again_keeps_its_tasks(
    cluster_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MISSING_SECONDS", 0.0)

    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(), 10)
            await one.die()
            other.tasks._settled_at = float("inf")
            assert await other.tasks.adopt([]) == []
            await one.node._report(one.node.client.do)
            other.tasks._settled_at = 0.0
            assert await other.tasks.adopt([]) == []
            assert other.tasks._missing == {}

    run(scenario())


def test_nothing_is_taken_over_right_after_redis_was_away(cluster_url: str) -> None:
    async def scenario() -> None:
        worker = Worker(cluster_url)
        worker.tasks._missing = {b"n": 0.0}
        with pytest.raises(StoreError):
            await worker.tasks.adopt([])
        assert worker.tasks._missing == {}
        assert worker.tasks._settled_at > 0

    run(scenario())


def test_what_this_process_holds_and_does_not_run_is_returned_to_it(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, _):
            await one.tasks.add(make_row("a"), 10)
            await one.tasks.add(make_row("b"), 10)
            # Its row is gone, its place among the held ones is not.
            await one.node.client.do("DEL", one.node.key("task", "b"))
            assert [row.id for row in await one.tasks.adopt([])] == ["a"]
            assert await one.tasks.lost(["a", "b"]) == ["b"]

    run(scenario())


def test_an_id_never_names_another_key(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(), 10)
            await other.tasks.leave("a", b"1")
            assert await one.tasks.get("a:answers") is None
            assert await one.tasks.get("a" * 1000) is None
            assert await one.tasks.get("\ud800") is None

    run(scenario())


def test_a_redis_out_of_memory_does_not_lose_what_is_taken_over(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MISSING_SECONDS", 0.0)

    async def scenario() -> None:
        async with two_workers(f"{redis_server.url}?name=full") as (one, other):
            await one.tasks.add(make_row(), 10)
            await one.die()
            redis_server.command("CONFIG", "SET", "maxmemory", "1")
            try:
                with pytest.raises(StoreError, match="OOM"):
                    await other.tasks.adopt([])
            finally:
                redis_server.command("CONFIG", "SET", "maxmemory", "0")
            assert [row.id for row in await other.tasks.adopt([])] == ["a"]

    run(scenario())


def test_answers_reach_the_holder_once(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(), 10)
            await other.tasks.leave("a", b"1")
            await other.tasks.leave("a", b"2")
            assert await one.heard.get() == "a"
            assert await one.tasks.collect(["a", "b"]) == [("a", b"1"), ("a", b"2")]
            assert await one.tasks.collect(["a"]) == []
            assert await one.tasks.collect([]) == []
            await other.tasks.leave("a", b"3")
            assert await one.save(status="failed")
            await other.tasks.leave("a", b"4")
            assert await one.tasks.collect(["a"]) == []

    run(scenario())


def test_others_are_told_of_what_clients_see(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(), 10)
            assert await one.save(record=b"r", updated=2.0)
            assert await one.save(message="m", updated=3.0)
            assert await one.save(message="m", record=b"s", updated=4.0)
            assert await one.save(status="completed", result=b"1", updated=5.0)
            first, last = await other.heard.get(), await other.heard.get()
            assert (first.id, first.message, first.updated) == ("a", "m", 3.0)
            assert (last.status, last.result, last.updated) == ("completed", None, 5.0)
            assert one.heard.empty() and other.heard.empty()

    run(scenario())


def test_a_task_that_has_expired_leaves_nothing(cluster_url: str) -> None:
    async def scenario() -> None:
        async with two_workers(cluster_url) as (one, other):
            await one.tasks.add(make_row(expires=FUTURE), 10)
            await other.tasks.leave("a", b"1")
            assert await other.tasks.expire(FUTURE) == ["a"]
            left = await one.node.client.do("KEYS", one.node.key("task*"))
            assert set(left) <= {one.node.key("tasks", name) for name in ("number", "workers")}
            assert await one.tasks.adopt([]) == []
            assert await one.node.client.do("KEYS", one.node.key("task*")) == [
                one.node.key("tasks", "number")
            ]

    run(scenario())
