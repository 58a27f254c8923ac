"""The file: opened, checked, shared by threads and processes.

Write-ahead mode lets readers see a whole state while another process writes; writers take turns.
A file that is broken, of somebody else or of a later version is refused and left as it is.
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

# "dvds": says whose file it is.
_APPLICATION = 0x64766473
_VERSION = 1
_PATIENCE_MS = 30_000

# The states are in tables of their own, so that a list of designs reads none of their pages.
_SCHEMA = f"""
CREATE TABLE designs(id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL,
  visibility TEXT NOT NULL, owner TEXT NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL,
  version INTEGER NOT NULL, elements INTEGER NOT NULL, created INTEGER NOT NULL,
  updated INTEGER NOT NULL, deleted INTEGER NOT NULL, is_template INTEGER NOT NULL,
  category TEXT NOT NULL, slots TEXT NOT NULL, folded TEXT NOT NULL);
CREATE INDEX designs_listed ON designs(is_template, deleted > 0, updated DESC, id);
CREATE INDEX designs_owned ON designs(is_template, deleted > 0, owner, visibility);
CREATE TABLE currents(design TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE versions(design TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
  action TEXT NOT NULL, detail TEXT NOT NULL, by TEXT NOT NULL, label TEXT NOT NULL,
  stands_at INTEGER NOT NULL, undo_to INTEGER NOT NULL, redo TEXT NOT NULL,
  delta BLOB, whole BLOB);
CREATE UNIQUE INDEX versions_numbered ON versions(design, number);
CREATE INDEX versions_labelled ON versions(design, label, number) WHERE label != '';
CREATE TABLE assets(id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL,
  mime_type TEXT NOT NULL, size INTEGER NOT NULL, digest TEXT NOT NULL, owner TEXT NOT NULL,
  created INTEGER NOT NULL, width INTEGER NOT NULL, height INTEGER NOT NULL);
CREATE INDEX assets_listed ON assets(created DESC, id);
CREATE INDEX assets_content ON assets(digest);
CREATE TABLE exports(id TEXT PRIMARY KEY, design TEXT NOT NULL, version INTEGER NOT NULL,
  name TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL, digest TEXT NOT NULL,
  created INTEGER NOT NULL, owner TEXT NOT NULL);
CREATE INDEX exports_of ON exports(design);
CREATE INDEX exports_by_age ON exports(created DESC, id);
CREATE INDEX exports_content ON exports(digest);
CREATE TABLE changes(sequence INTEGER PRIMARY KEY AUTOINCREMENT, design TEXT NOT NULL);
CREATE TABLE clock(stamp INTEGER NOT NULL);
INSERT INTO clock VALUES(0);
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
"""


class SqliteFile:
    """Connections to one file: one that writes, as many as are wanted that read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = threading.Lock()
        self._write_lock = threading.Lock()
        _prepare(path)
        self._writer = _connect(path)

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
            raise ToolError("The designs are busy: another process writes; try again") from None
        raise ToolError(
            f"The file of designs cannot be used: {words}. Nothing was changed"
        ) from None
    except sqlite3.DatabaseError as error:
        raise ToolError(f"The file of designs is damaged: {error}. Nothing was changed") from None


def _prepare(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Made by hand first: designs are for their owner's eyes.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        with contextlib.closing(_connect(path)) as database:
            _check(path, database)
    except OSError as error:
        raise UsageError(f"Designs cannot be kept in {str(path)!r}: {error.strerror}") from None
    except sqlite3.DatabaseError as error:
        raise UsageError(
            f"{str(path)!r} is no usable file of designs: {error}. It was left as it is"
        ) from None


def _check(path: Path, database: sqlite3.Connection) -> None:
    # Before anything is written: write-ahead mode is written into the file itself.
    _refuse_foreign(path, database)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("BEGIN IMMEDIATE")
    # Two processes may begin with the same new file; whoever comes second finds it made.
    if not _refuse_foreign(path, database):
        for statement in _SCHEMA.split(";\n"):
            database.execute(statement)
    database.execute("COMMIT")


def _refuse_foreign(path: Path, database: sqlite3.Connection) -> bool:
    """Whether there is anything in the file; raises UsageError if it is not ours to open."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != _APPLICATION:
        raise UsageError(f"{str(path)!r} is a database of another program; name another folder")
    if version > _VERSION:
        raise UsageError(
            f"{str(path)!r} was written by a later version of dovetail (format {version}; this "
            f"one knows up to {_VERSION}). It was left as it is"
        )
    return bool(tables)
