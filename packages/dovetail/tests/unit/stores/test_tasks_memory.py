"""The store of a single process."""

from __future__ import annotations

from dovetail.stores.tasks_memory import MemoryTaskStore
from tests.unit.stores.task_stores import make_row


def test_nobody_else_is_there_to_leave_or_collect_anything() -> None:
    store = MemoryTaskStore()
    store.add(make_row(), 1)
    store.leave("a", b"{}")
    assert store.collect() == []
    assert not store.has_changed()
    assert not store.blocks
    assert not store.is_shared


def test_who_opens_the_server_again_finds_the_tasks() -> None:
    store = MemoryTaskStore()
    store.add(make_row(), 1)
    store.close()
    assert store.get("a") is not None
