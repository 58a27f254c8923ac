"""A SQLite file with user data: opened, checked, and shared by threads and processes.

Write-ahead logging gives readers a consistent snapshot while another process writes; writers take
turns. A file that is damaged, belongs to another program or has a later format version is rejected
and left unchanged.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dovetail import ToolError, UsageError

__all__ = ["DurableDatabase", "Layout"]

_BUSY_TIMEOUT_MS = 30_000
# FULL: a commit waits for the disk, so a change that was acknowledged survives a crash.
_SETTINGS = ("synchronous = FULL", "cache_size = -16384", "temp_store = MEMORY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The format of a file, and its name in error messages."""

    # For error messages, with the article: "the graph".
    name: str
    # SQLite's application_id (four bytes) and user_version.
    application: bytes
    version: int
    # SQL statements, each ending with a semicolon and a newline.
    schema: str
    # Version of a file -> the statements that upgrade it to the next version.
    upgrades: Mapping[int, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


class DurableDatabase:
    """Connections to one file: a single one for writing, and a pool for reading."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path = path
        self._layout = layout
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._prepare()
        self._writer = self._connect()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside a read transaction, which sees one snapshot."""
        with self._idle_lock:
            database = self._idle.pop() if self._idle else None
        with self._translate_errors():
            database = database or self._connect()
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
        """Yield a connection inside a write transaction; an exception rolls it back."""
        with self.writer() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                # When the disk is full, SQLite may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def writer(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection for writing, outside of a transaction."""
        with self._write_lock, self._translate_errors():
            yield self._writer

    def close(self) -> None:
        """Close all connections; the last process to do so checkpoints the write-ahead log."""
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()
        with self._write_lock:
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        database.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
        for setting in (*_SETTINGS, *self._layout.settings):
            database.execute(f"PRAGMA {setting}")
        return database

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        name = self._layout.name
        try:
            yield
        except sqlite3.OperationalError as error:
            message = str(error)
            if "locked" in message or "busy" in message:
                raise ToolError(f"Another process is writing to {name}; try again") from None
            raise ToolError(
                f"The database file of {name} cannot be used: {message}. Nothing was changed"
            ) from None
        except sqlite3.DatabaseError as error:
            raise ToolError(
                f"The database file of {name} is damaged: {error}. Nothing was changed"
            ) from None

    # -- opening ------------------------------------------------------------------------------

    def _prepare(self) -> None:
        name, place = self._layout.name, repr(str(self.path))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # SQLite would create the file readable by others; create it with 0600 first.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with _locked(self.path.parent), contextlib.closing(self._connect()) as database:
                self._check(database)
        except OSError as error:
            raise UsageError(f"Cannot store {name} in {place}: {error.strerror}") from None
        except sqlite3.DatabaseError as error:
            raise UsageError(
                f"{place} is not a usable SQLite file: {error}. The file was not changed"
            ) from None

    def _check(self, database: sqlite3.Connection) -> None:
        # Check first: setting the journal mode already writes to the file.
        self._find_version(database)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        # Check again inside the transaction: another process may have created the tables.
        found = self._find_version(database)
        if found is None:
            number = int.from_bytes(self._layout.application, "big")
            _run(database, f"{self._layout.schema}PRAGMA application_id = {number};\n")
        else:
            for old in range(found, self._layout.version):
                _run(database, self._layout.upgrades[old])
        database.execute(f"PRAGMA user_version = {self._layout.version}")
        database.execute("COMMIT")

    def _find_version(self, database: sqlite3.Connection) -> int | None:
        """Return the format version, None for a new file. Raises UsageError for foreign files."""
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0:
            return None
        place = repr(str(self.path))
        if application != int.from_bytes(self._layout.application, "big"):
            raise UsageError(f"{place} is a database of another program; choose another file")
        if version > self._layout.version:
            raise UsageError(
                f"{place} was written by a later version of dovetail (format {version}; this "
                f"version reads up to {self._layout.version}). The file was not changed"
            )
        return int(version)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time prepare a database in this folder.

    SQLite does not wait for the lock that a new file needs when it is switched to WAL.
    """
    held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _run(database: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";\n"):
        database.execute(statement)
