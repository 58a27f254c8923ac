from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from dovetail import ToolError, UsageError
from dovetail_serverkit.kept_file import KeptFile, Layout

SCHEMA = "CREATE TABLE notes(text TEXT NOT NULL);\n"
FIRST = Layout(name="the notes", application=b"test", version=1, schema=SCHEMA)
SECOND = Layout(
    name="the notes",
    application=b"test",
    version=2,
    schema="CREATE TABLE notes(text TEXT NOT NULL, at INTEGER);\n",
    upgrades={1: "ALTER TABLE notes ADD COLUMN at INTEGER;\n"},
)


def texts(file: KeptFile) -> list[str]:
    with file.reading() as database:
        return [text for (text,) in database.execute("SELECT text FROM notes ORDER BY rowid")]


def test_a_change_is_whole_or_nothing_and_readers_see_whole_states(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "notes.db", FIRST)
    with file.writing() as database:
        database.execute("INSERT INTO notes VALUES('one')")
        assert texts(file) == []
    with pytest.raises(RuntimeError), file.writing() as database:
        database.execute("INSERT INTO notes VALUES('two')")
        raise RuntimeError
    assert texts(file) == ["one"]
    file.close()


def test_an_older_format_is_brought_up_and_keeps_what_is_in_it(tmp_path: Path) -> None:
    old = KeptFile(tmp_path / "notes.db", FIRST)
    with old.writing() as database:
        database.execute("INSERT INTO notes VALUES('kept')")
    old.close()
    new = KeptFile(tmp_path / "notes.db", SECOND)
    assert texts(new) == ["kept"]
    new.close()
    with pytest.raises(
        UsageError, match=r"later version of dovetail \(format 2; this one knows up"
    ):
        KeptFile(tmp_path / "notes.db", FIRST)


def test_what_is_not_ours_is_refused_and_left_byte_for_byte(tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as database:
        database.execute("CREATE TABLE bookmarks(url TEXT)")
    database.close()
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all " * 300)
    for path, words in ((foreign, "another program"), (broken, "no usable file")):
        before = path.read_bytes()
        with pytest.raises(UsageError, match=words):
            KeptFile(path, FIRST)
        assert path.read_bytes() == before
    with pytest.raises(UsageError, match="The notes cannot be kept in"):
        KeptFile(tmp_path, FIRST)


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    KeptFile(tmp_path / "deep" / "notes.db", FIRST).close()
    assert (tmp_path / "deep" / "notes.db").stat().st_mode & 0o777 == 0o600


def test_faults_of_the_file_are_told_in_words(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "notes.db", FIRST)
    words = "The file of the notes cannot be used: no such table"
    with pytest.raises(ToolError, match=words), file.reading() as database:
        database.execute("SELECT * FROM elsewhere")
    with file.alone() as writer:
        writer.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(tmp_path / "notes.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    words = "Another process writes to the notes; try again"
    with pytest.raises(ToolError, match=words), file.writing():
        pass
    other.execute("ROLLBACK")
    other.close()
    file.close()


def test_writers_of_one_process_take_turns(tmp_path: Path) -> None:
    file = KeptFile(tmp_path / "notes.db", FIRST)

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
