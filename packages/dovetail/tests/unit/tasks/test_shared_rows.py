"""Tasks in a store that is away for a while, and changes that other processes make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dovetail.errors import StoreError
from dovetail.stores.tasks import TaskRow
from dovetail.tasks import files as module
from dovetail.tasks.files import SharedTaskRows
from tests.unit.stores.task_stores import make_row
from tests.unit.talk import run


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY", 0.001)


class Store:
    """Keeps what it is given, unless it is away."""

    worker = "me"

    def __init__(self) -> None:
        self.is_away = False
        self.saved: list[str | None] = []
        self.attempts = 0
        self._turn = 0
        self.handlers: tuple[Callable[..., None], ...] = ()

    def listen(self, *handlers: Callable[..., None]) -> None:
        self.handlers = handlers

    def next_turn(self) -> int:
        self._turn += 1
        return self._turn

    async def save(self, row: TaskRow, turn: int) -> bool:
        self.attempts += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise StoreError("away")
        self.saved.append(row.message)
        return row.status != "failed"

    def __getattr__(self, name: str) -> Any:
        async def do(*arguments: Any) -> tuple[Any, ...]:
            return (name, *arguments)

        return do


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def changed_elsewhere(self, row: TaskRow) -> None:
        self.heard.append(row.id)

    def answered_elsewhere(self, ids: Sequence[str] | None) -> None:
        self.heard.append(ids)


async def opened() -> tuple[SharedTaskRows, Any, Listener]:
    store, listener = Store(), Listener()
    made: Any = store
    rows = SharedTaskRows(made)
    await rows.open(listener)
    return rows, store, listener


async def attempts(store: Store, more: int) -> None:
    wanted = store.attempts + more
    while store.attempts < wanted:
        await asyncio.sleep(0)


def test_what_is_asked_for_fails_at_once_and_what_has_happened_waits() -> None:
    async def scenario() -> None:
        rows, store, _ = await opened()
        store.is_away = True
        with pytest.raises(StoreError):
            await rows.save(make_row())
        saving = asyncio.create_task(rows.save_surely(make_row(message="m")))
        await attempts(store, 3)
        assert not saving.done()
        store.is_away = False
        assert await saving
        assert store.saved == ["m"]
        assert not await rows.save_surely(make_row(status="failed"))
        assert await rows.save(make_row())

    run(scenario())


def test_what_waits_is_given_up_when_it_has_expired() -> None:
    async def scenario() -> None:
        rows, store, _ = await opened()
        store.is_away = True
        assert not await rows.save_surely(make_row(expires=1.0))
        rows.save_soon(make_row(expires=1.0))
        await asyncio.wait(list(rows._saving.values()))
        assert not rows._saving and not rows._newest

    run(scenario())


def test_of_what_waits_only_the_newest_is_kept() -> None:
    async def scenario() -> None:
        rows, store, _ = await opened()
        store.is_away = True
        for number in range(100):
            rows.save_soon(make_row(message=f"m{number}"))
            rows.save_soon(make_row("b", message="other"))
        assert len(rows._saving) == len(rows._newest) == 2
        await attempts(store, 4)
        store.is_away = False
        await asyncio.wait(list(rows._saving.values()))
        assert sorted(filter(None, store.saved)) == ["m99", "other"]
        assert not rows._saving and not rows._newest
        await rows.close()
        rows.save_soon(make_row())
        assert not rows._saving

    run(scenario())


def test_closing_does_not_wait_for_a_store_that_stays_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_CLOSING", 0.001)

    async def scenario() -> None:
        rows, store, _ = await opened()
        store.is_away = True
        rows.save_soon(make_row())
        [saving] = rows._saving.values()
        await rows.close()
        await asyncio.wait([saving])
        assert saving.cancelled() and not rows._saving

    run(scenario())


def test_a_watcher_is_woken_by_changes_of_any_process() -> None:
    async def scenario() -> None:
        rows, store, listener = await opened()
        changed, answered, reset = store.handlers
        with rows.watching("a", 0.0) as wait_for_change, rows.watching("b", 0.0) as never:
            waiting, other = (
                asyncio.ensure_future(wait_for_change()),
                asyncio.ensure_future(never()),
            )
            changed(make_row("a"))
            await waiting
            assert not other.done()
            waiting = asyncio.ensure_future(wait_for_change())
            await rows.save(make_row("a"))
            await waiting
            waiting = asyncio.ensure_future(wait_for_change())
            reset()
            await waiting
            await other
        assert not rows._watchers
        answered("c")
        assert listener.heard == ["a", None, ["c"]]
        await rows.close()
        changed(make_row("a"))
        assert len(listener.heard) == 3

    run(scenario())


def test_a_watcher_looks_again_if_no_message_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_AGAIN", 0.001)

    async def scenario() -> None:
        rows, _, _ = await opened()
        with rows.watching("a", 0.0) as wait_for_change:
            await wait_for_change()

    run(scenario())


def test_everything_else_is_passed_to_the_store() -> None:
    async def scenario() -> None:
        rows, _, listener = await opened()
        await rows.open(listener)
        assert rows.is_open and rows.is_shared and rows.notifies
        assert await rows.get("a") == ("get", "a")  # type: ignore[comparison-overlap]
        assert await rows.collect(["a"]) == ("collect", ["a"])  # type: ignore[comparison-overlap]
        await rows.tell_cancelled("a")

    run(scenario())
