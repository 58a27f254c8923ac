"""The SQLite task store: persistence, and several processes."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.errors import TransportError
from dovetail.stores.tasks_sqlite import SqliteTaskStore
from tests.patience import CAP
from tests.unit.stores.task_stores import make_row


def test_tasks_persist_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "state" / "t.sqlite3"
    file.parent.mkdir()
    first = SqliteTaskStore(file)
    first.add(make_row(), 1)
    first.close()
    first.close()
    second = SqliteTaskStore(file)
    assert second.get("a") is not None
    second.close()


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    store = SqliteTaskStore(tmp_path / "t.sqlite3")
    assert stat.S_IMODE(os.stat(tmp_path / "t.sqlite3").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "t.sqlite3-workers").st_mode) == 0o700
    store.close()
    assert not list((tmp_path / "t.sqlite3-workers").iterdir())


def test_tasks_of_a_live_process_are_not_taken_over(tmp_path: Path) -> None:
    one, other = (SqliteTaskStore(tmp_path / "t.sqlite3") for _ in range(2))
    one.add(make_row("a"), 10)
    assert other.adopt([]) == []
    one.close()
    [row] = other.adopt([])
    assert (row.id, row.worker) == ("a", other.worker)
    other.close()


OPEN_TOGETHER = """
import multiprocessing, sys
from dovetail.stores.tasks_sqlite import SqliteTaskStore

def open_all(barrier):
    for number in range(60):
        barrier.wait()
        SqliteTaskStore(f"{sys.argv[1]}/{number}.sqlite3").close()

together = [multiprocessing.Process(target=open_all, args=[barrier])
            for barrier in [multiprocessing.Barrier(8)] for _ in range(8)]
for process in together:
    process.start()
for process in together:
    process.join()
sys.exit(any(process.exitcode for process in together))
"""


def test_processes_that_open_a_new_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    words = [sys.executable, "-c", OPEN_TOGETHER, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=CAP, check=False)
    assert done.returncode == 0, done.stderr


def test_only_one_process_takes_over_the_tasks_of_a_dead_one(tmp_path: Path) -> None:
    dead, one, other = (SqliteTaskStore(tmp_path / "t.sqlite3") for _ in range(3))
    dead.add(make_row("a"), 10)
    # As the system does it, however a process ends: the lock goes, the file stays.
    assert dead._alive is not None
    os.close(dead._alive)
    dead._alive = None
    assert [row.id for row in one.adopt([])] == ["a"]
    assert other.adopt([]) == []
    assert not (tmp_path / "t.sqlite3-workers" / dead.worker).exists()
    for store in (dead, one, other):
        store.close()


def test_a_lock_file_deleted_before_locking_is_recreated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[int] = []
    real = fcntl.flock

    def sweep_first(held: int, how: int) -> None:
        real(held, how)
        if not swept:
            swept.append(held)
            [path] = (tmp_path / "t.sqlite3-workers").iterdir()
            path.unlink()
        elif len(swept) == 1:
            swept.append(held)
            [path] = (tmp_path / "t.sqlite3-workers").iterdir()
            path.unlink()
            path.touch()

    monkeypatch.setattr(fcntl, "flock", sweep_first)
    store = SqliteTaskStore(tmp_path / "t.sqlite3")
    assert len(swept) == 2
    assert (tmp_path / "t.sqlite3-workers" / store.worker).exists()
    store.close()


def test_answers_reach_the_process_that_runs_the_task(tmp_path: Path) -> None:
    one, other = (SqliteTaskStore(tmp_path / "t.sqlite3") for _ in range(2))
    one.add(make_row("a", expires=5.0), 10)
    assert other.has_changed()
    assert not other.has_changed()
    other.leave("a", b"1")
    other.leave("a", b"2")
    other.leave("gone", b"3")
    assert one.has_changed()
    assert other.collect() == []
    assert one.collect() == [("a", b"1"), ("a", b"2")]
    assert one.collect() == []
    other.expire(5.0)
    with sqlite3.connect(tmp_path / "t.sqlite3") as database:
        assert database.execute("SELECT count(*) FROM answers").fetchone() == (0,)
    database.close()
    one.close()
    other.close()


def test_a_failed_transaction_changes_nothing(tmp_path: Path) -> None:
    store = SqliteTaskStore(tmp_path / "t.sqlite3")
    store.add(make_row("a"), 10)
    with pytest.raises(sqlite3.IntegrityError):
        store.add(make_row("a"), 10)
    store.add(make_row("b"), 2)
    assert [row.id for row in store.page(None, None, 0, 10)] == ["a", "b"]
    store.close()


def test_an_unusable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(
        "this is no database, and long enough to be read as one", "utf-8"
    )
    with pytest.raises(TransportError, match="Cannot use"):
        SqliteTaskStore(tmp_path / "text")
    (tmp_path / "busy-workers").write_text("", "utf-8")
    with pytest.raises(TransportError, match="exists"):
        SqliteTaskStore(tmp_path / "busy")


def test_a_file_of_a_newer_version_is_not_changed(tmp_path: Path) -> None:
    SqliteTaskStore(tmp_path / "t.sqlite3").close()
    with sqlite3.connect(tmp_path / "t.sqlite3") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(TransportError, match=r"newer version \(format 99"):
        SqliteTaskStore(tmp_path / "t.sqlite3")
