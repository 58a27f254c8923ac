from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.stores.tasks import TaskRow
from dovetail.stores.tasks_memory import MemoryTaskStore
from dovetail.stores.tasks_sqlite import SqliteTaskStore
from dovetail.tasks.rows import LocalTaskRows
from tests.unit.talk import run


def row() -> TaskRow:
    return TaskRow(
        id="t", owner=None, revision="x", created=1.0, updated=1.0, expires=None, request=b""
    )


def test_nothing_is_opened_before_it_is_wanted_and_nothing_kept_without_a_store() -> None:
    opened: list[str] = []

    def open_store() -> MemoryTaskStore:
        opened.append("store")
        return MemoryTaskStore()

    async def scenario() -> None:
        rows = LocalTaskRows(open_store)
        assert not await rows.save(row())
        rows.save_soon(row())
        with pytest.raises(AssertionError):
            _ = rows.opened
        assert opened == []
        await rows.open()
        await rows.open()
        assert opened == ["store"] and not rows.is_shared

    run(scenario())


def test_what_is_in_memory_outlives_a_close_and_a_file_is_opened_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        memory = LocalTaskRows(MemoryTaskStore)
        await memory.open()
        await memory.add(row(), 10)
        await memory.close()
        assert memory.opened.get("t") is not None

        file = LocalTaskRows(lambda: SqliteTaskStore(tmp_path / "t.sqlite3"))
        await file.open()
        await file.add(row(), 10)
        await file.close()
        assert file.store is None
        await file.open()
        assert await file.get("t") is not None
        await file.close()

    run(scenario())
