"""The behaviour of every task store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dovetail.errors import LimitError
from dovetail.stores.tasks import FINAL, TaskStore
from tests.unit.stores.task_stores import FUTURE, KINDS, make_row, open_store


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TaskStore]:
    url = lambda: request.getfixturevalue("cluster_url")  # noqa: E731 - only one kind needs it
    opened = open_store(request.param, tmp_path, url)
    yield opened
    opened.close()


def test_a_row_is_returned_unchanged(store: TaskStore) -> None:
    row = make_row(record=b"r", asks=b"q", message="m", owner=None, expires=None)
    store.add(row, 10)
    found = store.get("a")
    assert found == replace(row, worker=store.worker)
    assert store.get("b") is None


def test_changes_are_saved(store: TaskStore) -> None:
    store.add(make_row(), 10)
    changed = make_row(status="input_required", message="m", updated=2.0, asks=b"q", worker="w")
    assert store.save(changed)
    found = store.get("a")
    assert found is not None
    assert (found.status, found.message, found.updated) == ("input_required", "m", 2.0)
    assert (found.asks, found.worker) == (b"q", "w")


@pytest.mark.parametrize("status", sorted(FINAL))
def test_final_rows_never_change(store: TaskStore, status: str) -> None:
    store.add(make_row(), 10)
    assert store.save(make_row(status=status, result=b"1"))
    assert not store.save(make_row(status="working"))
    assert not store.save(make_row(status="cancelled"))
    found = store.get("a")
    assert found is not None and (found.status, found.result) == (status, b"1")
    assert not store.save(make_row("b"))


def test_the_number_of_tasks_per_owner_is_limited(store: TaskStore) -> None:
    for owner in ("ada", "bob", None):
        for number in range(2):
            store.add(make_row(f"{owner}{number}", owner=owner, expires=FUTURE + 5.0), 2)
        with pytest.raises(
            LimitError, match="Too many tasks: the limit is 2 per caller, including finished"
        ):
            store.add(make_row(f"{owner}3", owner=owner), 2)
    # An owner that is called like nobody is somebody.
    store.add(make_row("empty", owner="", expires=FUTURE + 5.0), 1)
    assert len(store.expire(FUTURE + 5.0)) == 7
    store.add(make_row("ada4"), 1)


def test_expired_tasks_are_deleted(store: TaskStore) -> None:
    store.add(make_row("a", expires=FUTURE + 5.0), 10)
    store.add(make_row("b", expires=FUTURE + 6.0), 10)
    store.add(make_row("c", expires=None), 10)
    assert store.expire(FUTURE + 4.9) == []
    assert store.expire(FUTURE + 5.0) == ["a"]
    assert store.get("a") is None
    assert [row.id for row in store.page(None, None, 0, 10)] == ["b", "c"]


def test_pages_are_filtered_by_owner_and_revision_in_order(store: TaskStore) -> None:
    for id in "abc":
        store.add(make_row(id), 10)
    store.add(make_row("d", owner="bob"), 10)
    store.add(make_row("e", revision="r2"), 10)
    first = store.page("ada", "r1", 0, 2)
    assert [row.id for row in first] == ["a", "b"]
    assert [row.id for row in store.page("ada", "r1", first[-1].number, 2)] == ["c"]
    assert [row.id for row in store.page(None, None, 0, 10)] == list("abcde")


def test_tasks_without_a_worker_are_taken_over(store: TaskStore) -> None:
    for id in "abc":
        store.add(make_row(id), 10)
    store.save(make_row("b", status="failed", worker=store.worker))
    assert [row.id for row in store.adopt(["a"])] == ["c"]
    assert store.adopt(["a", "c"]) == []
