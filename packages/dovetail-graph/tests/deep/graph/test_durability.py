"""Concurrent writers lose nothing, and a killed process leaves no partial change.

Kills a few processes by default; `make durability` kills more.
"""

from __future__ import annotations

import sqlite3
import subprocess
from functools import partial
from pathlib import Path

import pytest

from dovetail import ToolError, UsageError
from dovetail_graph.records import EntityRecord
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.storage import ChangeFilter, Page
from dovetail_graph.timestamps import Span, View
from tests.patience import CAP
from tests.serverkit.killing import kill_writers, start_writer


def start(database: Path, who: str, count: int, prefix: str = "") -> subprocess.Popen[str]:
    return start_writer("tests.graph.writing", database, who, count, prefix)


def assert_whole(database: Path, answered: set[str]) -> int:
    """Assert that everything reported is stored, and nothing is incomplete."""
    store = SqliteStore(database, "default")
    with store.reading() as reader:
        view = View(reader.now())
        names = {one.name for one in reader.entities(view, Page())} - {"Hub"}
        linked = {one.key.target for one in reader.relations(view, sources=["Hub"])}
        said = [one.entity for one in reader.observations(sorted(names), view)]
        rows = reader.database.execute("SELECT name FROM documents").fetchall()
        indexed = {name for (name,) in rows} - {"Hub"}
        logged = {
            one.name
            for one in reader.changes(ChangeFilter(0, reader.now() + 1, ("entity",), limit=-1))
        }
    store.close()
    assert answered <= names
    assert names == linked == set(said) == indexed == logged - {"Hub"}
    assert len(said) == 2 * len(names)
    with sqlite3.connect(database) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        for table in ("texts", "spellings"):
            file.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
    file.close()
    return len(names)


@pytest.mark.slow
def test_two_processes_of_500_writes_lose_none(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    writers = [start(database, who, 500) for who in ("one", "two")]
    answered: set[str] = set()
    for writer in writers:
        out, errors = writer.communicate(timeout=CAP)
        assert (writer.returncode, errors) == (0, "")
        answered |= set(out.split())
    assert len(answered) == 1000
    assert assert_whole(database, answered) == 1000


@pytest.mark.slow
def test_killed_writers_leave_no_partial_version(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    kill_writers(partial(start, database), partial(assert_whole, database))


def test_a_full_disk_fails_the_write_and_leaves_no_partial_change(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    # The file may grow to so many blocks; then every write fails as on a full disk.
    writer = start(database, "big", 100_000, prefix="ulimit -f 1200; ")
    out, errors = writer.communicate(timeout=CAP)
    assert writer.returncode == 1
    assert "ToolError: The database file of the graph cannot be used" in errors
    assert assert_whole(database, set(out.split())) > 0


def test_a_damaged_file_is_rejected_and_left_unchanged(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    database.write_bytes(b"this is no database, whatever it is called" * 100)
    before = database.read_bytes()
    with pytest.raises(UsageError, match="not a usable SQLite file"):
        SqliteStore(database, "default")
    assert database.read_bytes() == before


def test_a_file_of_a_later_version_is_rejected(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    SqliteStore(database, "default").close()
    with sqlite3.connect(database) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(UsageError, match="later version"):
        SqliteStore(database, "default")


def test_a_database_of_another_program_is_rejected(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    with sqlite3.connect(database) as file:
        file.execute("CREATE TABLE bookmarks(url TEXT)")
    file.close()
    before = database.read_bytes()
    with pytest.raises(UsageError, match="another program"):
        SqliteStore(database, "default")
    assert database.read_bytes() == before
    with pytest.raises(UsageError, match="Cannot store the graph"):
        SqliteStore(tmp_path, "default")


def test_damage_while_the_file_is_open_is_reported(tmp_path: Path) -> None:
    database = tmp_path / "graph.db"
    store = SqliteStore(database, "default")
    with store.writing() as writer:
        for number in range(300):
            writer.put_entity(EntityRecord(f"e{number}", "x" * 90), Span(0))
    store.close()
    data = bytearray(database.read_bytes())
    for place in range(len(data) // 8192 * 4096, len(data), 4096):
        data[place : place + 200] = b"\xff" * 200
    database.write_bytes(data)
    store = SqliteStore(database, "default")
    with pytest.raises(ToolError, match=r"damaged|cannot be used"), store.reading() as reader:
        reader.entities(View(reader.now()), Page())
        reader.match_words("e1", "all", 10)
    store.close()


def test_timestamps_grow_even_if_the_clock_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "graph.db", "default")
    stamps = []
    for moment in (5_000, 3_000, 3_000, 9_000, 0):
        monkeypatch.setattr("dovetail_graph.sqlite_store.clock", lambda now=moment: now)
        with store.writing() as writer:
            stamps.append(writer.now())
    store.close()
    assert stamps == [5_000, 5_001, 5_002, 9_000, 9_001]


def test_the_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "deep" / "graph.db", "default").close()
    assert (tmp_path / "deep" / "graph.db").stat().st_mode & 0o077 == 0
