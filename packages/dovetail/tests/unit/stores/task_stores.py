"""Rows and stores for the tests of task stores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dovetail.state.redis_url import parse_url
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.tasks import RedisTasks
from dovetail.stores.tasks import TaskRow, TaskStore
from dovetail.stores.tasks_memory import MemoryTaskStore
from dovetail.stores.tasks_sqlite import SqliteTaskStore

KINDS = ("memory", "sqlite", "redis")
# In the future: Redis deletes what has expired.
FUTURE = 4_000_000_000.0


class RedisTaskStore:
    """A store of a cluster whose methods wait for the answer."""

    blocks = is_shared = True

    def __init__(self, url: str) -> None:
        self._runner = asyncio.Runner()
        self._node = RedisNode(parse_url(url), "test")
        self._tasks = RedisTasks(self._node)
        self.worker = self._tasks.worker
        self._runner.run(self._node.open())

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._runner.run(getattr(self._tasks, name)(*arguments))

    def save(self, row: TaskRow) -> bool:
        return self._runner.run(self._tasks.save(row, self._tasks.next_turn()))

    def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        return sorted(self._runner.run(self._tasks.adopt(running)), key=lambda row: row.number)

    def close(self) -> None:
        self._runner.run(self._node.close())
        self._runner.close()


def open_store(kind: str, folder: Path, url: Callable[[], str]) -> TaskStore:
    if kind == "redis":
        store: Any = RedisTaskStore(url())
        return store  # type: ignore[no-any-return]
    return MemoryTaskStore() if kind == "memory" else SqliteTaskStore(folder / "t.sqlite3")


def make_row(id: str = "a", **members: Any) -> TaskRow:
    usual: dict[str, Any] = {
        "id": id,
        "owner": "ada",
        "revision": "r1",
        "created": 1.0,
        "updated": 1.0,
        "expires": FUTURE + 100.0,
        "request": b"{}",
    }
    return TaskRow(**{**usual, **members})
