"""The in-memory task store."""

from __future__ import annotations

from dovetail.stores.tasks_memory import MemoryTaskStore
from tests.unit.stores.task_stores import make_row


def test_there_are_no_answers_of_other_processes() -> None:
    store = MemoryTaskStore()
    store.add(make_row(), 1)
    store.leave("a", b"{}")
    assert store.collect() == []
    assert not store.has_changed()
    assert not store.blocks
    assert not store.is_shared


def test_tasks_survive_closing_the_store() -> None:
    store = MemoryTaskStore()
    store.add(make_row(), 1)
    store.close()
    assert store.get("a") is not None
