"""The file: opened, checked, shared by threads and processes.

Write-ahead mode lets readers see a whole state while another process writes; writers take turns.
A file that is broken, of somebody else or of a later version is refused and left as it is: unlike
an index, a memory cannot be made again.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from dovetail import ToolError, UsageError

__all__ = ["SqliteFile"]

# "dvgr": says whose file it is.
_APPLICATION = 0x64766772
_VERSION = 2
_PATIENCE_MS = 30_000

_TIMES = (
    "valid_from INTEGER NOT NULL, valid_to INTEGER NOT NULL, "
    "recorded_from INTEGER NOT NULL, recorded_to INTEGER NOT NULL"
)
# The end of recorded time, as in moments.FOREVER; partial indexes need it spelled out.
_OPEN = "recorded_to = 253402300799999999"

# `embedded` says of which state of an entity the passages are. Numbers of passages only grow: who
# has seen one looks for larger ones.
_PASSAGES = """CREATE INDEX documents_stamp ON documents(ns, stamp, id);
CREATE TABLE passages(id INTEGER PRIMARY KEY AUTOINCREMENT, document INTEGER NOT NULL,
  model TEXT NOT NULL, digest BLOB NOT NULL, observation TEXT NOT NULL, vector BLOB NOT NULL);
CREATE INDEX passages_document ON passages(document, model);
CREATE TABLE embedded(model TEXT NOT NULL, document INTEGER NOT NULL, stamp INTEGER NOT NULL,
  PRIMARY KEY(model, document)) WITHOUT ROWID;
"""

_SCHEMA = f"""
CREATE TABLE entities(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, name TEXT NOT NULL,
  kind TEXT NOT NULL, changed_by TEXT, {_TIMES});
CREATE INDEX entities_now ON entities(ns, name, kind, valid_from, valid_to) WHERE {_OPEN};
CREATE INDEX entities_all ON entities(ns, name, recorded_from);
CREATE TABLE observations(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, entity TEXT NOT NULL,
  content TEXT NOT NULL, source TEXT, confidence REAL, reinforced INTEGER NOT NULL,
  changed_by TEXT, {_TIMES});
CREATE INDEX observations_now ON observations(ns, entity) WHERE {_OPEN};
CREATE INDEX observations_all ON observations(ns, entity, recorded_from);
CREATE TABLE relations(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, source TEXT NOT NULL,
  target TEXT NOT NULL, kind TEXT NOT NULL, strength REAL NOT NULL, confidence REAL NOT NULL,
  metadata TEXT NOT NULL, reinforced INTEGER NOT NULL, changed_by TEXT, {_TIMES});
CREATE INDEX relations_out ON relations(ns, source, target, kind, valid_from, valid_to)
  WHERE {_OPEN};
CREATE INDEX relations_in ON relations(ns, target, source, valid_from, valid_to) WHERE {_OPEN};
CREATE INDEX relations_out_all ON relations(ns, source, target, recorded_from);
CREATE INDEX relations_in_all ON relations(ns, target, recorded_from);
CREATE TABLE documents(id INTEGER PRIMARY KEY, ns TEXT NOT NULL, name TEXT NOT NULL,
  folded TEXT NOT NULL, stamp INTEGER NOT NULL, UNIQUE(ns, name));
CREATE INDEX documents_folded ON documents(ns, folded);
CREATE VIRTUAL TABLE texts USING fts5(name, kind, body,
  tokenize = "porter unicode61 remove_diacritics 2", prefix = '3 5');
CREATE VIRTUAL TABLE spellings USING fts5(name, tokenize = "trigram");
{_PASSAGES}CREATE TABLE aliases(ns TEXT NOT NULL, alias TEXT NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(ns, alias)) WITHOUT ROWID;
CREATE INDEX aliases_name ON aliases(ns, name);
CREATE TABLE changes(sequence INTEGER PRIMARY KEY AUTOINCREMENT, ns TEXT NOT NULL,
  at INTEGER NOT NULL, kind TEXT NOT NULL, action TEXT NOT NULL, name TEXT NOT NULL,
  detail TEXT NOT NULL, changed_by TEXT);
CREATE INDEX changes_at ON changes(ns, at);
CREATE INDEX changes_name ON changes(ns, name);
CREATE TABLE clock(stamp INTEGER NOT NULL);
INSERT INTO clock VALUES(0);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""


# Version of a file -> what makes it one of the next.
_UPGRADES = {1: f"DROP TABLE vectors;\n{_PASSAGES}"}


class SqliteFile:
    """Connections to one file: one that writes, as many as are wanted that read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = threading.Lock()
        self._write_lock = threading.Lock()
        _prepare(path)
        self._writer = _connect(path)
        # A change touches every index; finding their pages again is what large graphs wait for.
        self._writer.execute("PRAGMA cache_size = -65536")

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state."""
        with self._idle_lock:
            database = self._idle.pop() if self._idle else None
        with _explained():
            database = database or _connect(self.path)
            database.execute("BEGIN")
            try:
                yield database
            finally:
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                with self._idle_lock:
                    self._idle.append(database)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection that changes everything or nothing."""
        with self._write_lock, _explained():
            database = self._writer
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                # Where the disk is full SQLite may have rolled back by itself.
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise

    def vacuum(self) -> None:
        """Write the file anew, without what was erased, and empty the log beside it."""
        with self._write_lock, _explained():
            self._writer.execute("INSERT INTO texts(texts) VALUES('optimize')")
            self._writer.execute("INSERT INTO spellings(spellings) VALUES('optimize')")
            self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of the file; the last process to do so folds the log into it."""
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()
        with self._write_lock:
            self._writer.close()


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
    # What was answered is on the disk: a commit waits for it.
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA secure_delete = ON")
    database.execute("PRAGMA cache_size = -16384")
    database.execute("PRAGMA temp_store = MEMORY")
    return database


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        words = str(error)
        if "locked" in words or "busy" in words:
            raise ToolError("The graph is busy: another process writes; try again") from None
        raise ToolError(f"The graph's file cannot be used: {words}. Nothing was changed") from None
    except sqlite3.DatabaseError as error:
        raise ToolError(f"The graph's file is damaged: {error}. Nothing was changed") from None


def _prepare(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made by hand first: a memory is for its owner's eyes.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with contextlib.closing(_connect(path)) as database:
            _check(path, database)
    except OSError as error:
        raise UsageError(f"The graph cannot be kept in {str(path)!r}: {error.strerror}") from None
    except sqlite3.DatabaseError as error:
        raise UsageError(
            f"{str(path)!r} is no usable graph: {error}. It was left as it is"
        ) from None


def _check(path: Path, database: sqlite3.Connection) -> None:
    # Before anything is written: write-ahead mode is written into the file itself.
    _find_version(path, database)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("BEGIN IMMEDIATE")
    # Two processes may begin with the same new file; whoever comes second finds it made.
    version = _find_version(path, database)
    if version is None:
        _run(database, _SCHEMA)
    else:
        for old in range(version, _VERSION):
            _run(database, f"{_UPGRADES[old]}PRAGMA user_version = {old + 1};\n")
    database.execute("COMMIT")


def _find_version(path: Path, database: sqlite3.Connection) -> int | None:
    """The format of the file; None for an empty one. Raises UsageError for one not ours to open."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables == 0:
        return None
    if application != _APPLICATION:
        raise UsageError(f"{str(path)!r} is a database of another program; name another file")
    if version > _VERSION:
        raise UsageError(
            f"{str(path)!r} was written by a later version of dovetail (format {version}; this "
            f"one knows up to {_VERSION}). It was left as it is"
        )
    return int(version)


def _run(database: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";\n"):
        database.execute(statement)
