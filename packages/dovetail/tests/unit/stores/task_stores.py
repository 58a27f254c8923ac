"""Rows and stores for the tests of task stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dovetail.stores.tasks import TaskRow, TaskStore
from dovetail.stores.tasks_memory import MemoryTaskStore
from dovetail.stores.tasks_sqlite import SqliteTaskStore

KINDS = ("memory", "sqlite")


def open_store(kind: str, folder: Path) -> TaskStore:
    return MemoryTaskStore() if kind == "memory" else SqliteTaskStore(folder / "t.sqlite3")


def make_row(id: str = "a", **members: Any) -> TaskRow:
    usual: dict[str, Any] = {
        "id": id,
        "owner": "ada",
        "revision": "r1",
        "created": 1.0,
        "updated": 1.0,
        "expires": 100.0,
        "request": b"{}",
    }
    return TaskRow(**{**usual, **members})
