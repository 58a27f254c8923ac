from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from dovetail import ToolError, UsageError
from dovetail_serverkit.durable_sqlite import DurableDatabase, Layout

SCHEMA = "CREATE TABLE notes(text TEXT NOT NULL);\n"
FIRST = Layout(name="the notes", application=b"test", version=1, schema=SCHEMA)
SECOND = Layout(
    name="the notes",
    application=b"test",
    version=2,
    schema="CREATE TABLE notes(text TEXT NOT NULL, at INTEGER);\n",
    upgrades={1: "ALTER TABLE notes ADD COLUMN at INTEGER;\n"},
)


def texts(file: DurableDatabase) -> list[str]:
    with file.reading() as database:
        return [text for (text,) in database.execute("SELECT text FROM notes ORDER BY rowid")]


def test_a_write_is_atomic_and_readers_see_a_snapshot(tmp_path: Path) -> None:
    file = DurableDatabase(tmp_path / "notes.db", FIRST)
    with file.writing() as database:
        database.execute("INSERT INTO notes VALUES('one')")
        assert texts(file) == []
    with pytest.raises(RuntimeError), file.writing() as database:
        database.execute("INSERT INTO notes VALUES('two')")
        raise RuntimeError
    assert texts(file) == ["one"]
    file.close()


def test_an_older_format_is_upgraded_and_keeps_its_data(tmp_path: Path) -> None:
    old = DurableDatabase(tmp_path / "notes.db", FIRST)
    with old.writing() as database:
        database.execute("INSERT INTO notes VALUES('kept')")
    old.close()
    new = DurableDatabase(tmp_path / "notes.db", SECOND)
    assert texts(new) == ["kept"]
    new.close()
    with pytest.raises(
        UsageError, match=r"later version of dovetail \(format 2; this version reads up"
    ):
        DurableDatabase(tmp_path / "notes.db", FIRST)


def test_foreign_and_damaged_files_are_rejected_and_left_unchanged(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE bookmarks(url TEXT)")
    database.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all " * 300)
    for path, words in ((foreign, "another program"), (broken, "not a usable SQLite file")):
        before = path.read_bytes()
        with pytest.raises(UsageError, match=words):
            DurableDatabase(path, FIRST)
        assert path.read_bytes() == before
    with pytest.raises(UsageError, match="Cannot store the notes in"):
        DurableDatabase(tmp_path, FIRST)


def test_a_new_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    DurableDatabase(tmp_path / "deep" / "notes.db", FIRST).close()
    assert (tmp_path / "deep" / "notes.db").stat().st_mode & 0o777 == 0o600


def test_sqlite_errors_become_tool_errors(tmp_path: Path) -> None:
    file = DurableDatabase(tmp_path / "notes.db", FIRST)
    words = "The database file of the notes cannot be used: no such table"
    with pytest.raises(ToolError, match=words), file.reading() as database:
        database.execute("SELECT * FROM elsewhere")
    with file.writer() as writer:
        writer.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "notes.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    words = "Another process is writing to the notes; try again"
    with pytest.raises(ToolError, match=words), file.writing():
        pass
    other.execute("ROLLBACK")
    other.close()
    file.close()


def test_threads_take_turns_writing(tmp_path: Path) -> None:
    file = DurableDatabase(tmp_path / "notes.db", FIRST)

    def write(number: int) -> None:
        for _ in range(5):
            with file.writing() as database:
                database.execute("INSERT INTO notes VALUES(?)", [str(number)])

    threads = [threading.Thread(target=write, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts(file)) == 20
    file.close()
