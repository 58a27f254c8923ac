"""Which store a server gets."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from dovetail.errors import TransportError
from dovetail.runtime.state import open_state
from dovetail.stores.tasks_memory import MemoryTaskStore
from dovetail.stores.tasks_sqlite import SqliteTaskStore
from dovetail.tasks.files import SharedTaskRows, find_task_file, make_task_rows, open_task_store
from dovetail.tasks.rows import LocalTaskRows


@pytest.mark.parametrize(
    ("chosen", "server", "file"),
    [
        ("memory", "s", None),
        ("x/t.db", "s", "x/t.db"),
        (None, "My Server/2", "/state/dovetail/My_Server_2.tasks.sqlite3"),
        (None, "../s", "/state/dovetail/.._s.tasks.sqlite3"),
    ],
)
def test_where_the_file_is(
    chosen: str | None, server: str, file: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert find_task_file(chosen, server) == (None if file is None else Path(file))


def test_without_a_folder_for_state_it_is_in_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert find_task_file(None, "s") == Path("/home/ada/.local/state/dovetail/s.tasks.sqlite3")


def test_it_is_durable_unless_somebody_chooses_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    store = open_task_store(None, "s")
    assert isinstance(store, SqliteTaskStore)
    store.close()
    assert (tmp_path / "dovetail" / "s.tasks.sqlite3").exists()
    assert isinstance(open_task_store("memory", "s"), MemoryTaskStore)


def test_where_nothing_can_be_written_a_warning_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "dovetail").write_text("in the way", "utf-8")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with caplog.at_level(logging.WARNING, "dovetail"):
        assert isinstance(open_task_store(None, "s"), MemoryTaskStore)
    assert "kept in memory and lost with this process" in caplog.text


def test_a_chosen_file_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("in the way", "utf-8")
    with pytest.raises(TransportError):
        open_task_store(str(tmp_path / "x" / "t.db"), "s")


def test_a_cluster_has_the_tasks_unless_a_store_was_chosen() -> None:
    _, shared = open_state("redis://127.0.0.1:1/0", "s")
    assert isinstance(make_task_rows(None, "s", shared), SharedTaskRows)
    assert isinstance(make_task_rows("memory", "s", shared), LocalTaskRows)
    assert isinstance(make_task_rows(None, "s", None), LocalTaskRows)
