"""A SQLite file that cannot be made again: opened, checked, shared by threads and processes.

Write-ahead mode lets readers see a whole state while another process writes; writers take turns.
A file that is broken, of somebody else or of a later version is refused and left as it is.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dovetail import ToolError, UsageError

__all__ = ["KeptFile", "Layout"]

_PATIENCE_MS = 30_000
# What was answered is on the disk: a commit waits for it.
_SETTINGS = ("synchronous = FULL", "cache_size = -16384", "temp_store = MEMORY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is in a file, and how it is spoken of."""

    # "the graph": in sentences that say what happened to it.
    name: str
    # Four letters that say whose file it is, and the format of this version.
    application: bytes
    version: int
    # Statements, each with a semicolon at the end of its line.
    schema: str
    # Format of a file -> what makes it one of the next.
    upgrades: Mapping[int, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()


class KeptFile:
    """Connections to one file: one that writes, as many as are wanted that read."""

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
        """A connection that sees one state."""
        with self._idle_lock:
            database = self._idle.pop() if self._idle else None
        with self._explained():
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
        """A connection that changes everything or nothing."""
        with self.alone() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
                database.execute("COMMIT")
            except BaseException:
                # Where the disk is full SQLite may have rolled back by itself.
                with contextlib.suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes, outside of a transaction."""
        with self._write_lock, self._explained():
            yield self._writer

    def close(self) -> None:
        """Let go of the file; the last process to do so folds the log into it."""
        with self._idle_lock:
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()
        with self._write_lock:
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        database.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        for setting in (*_SETTINGS, *self._layout.settings):
            database.execute(f"PRAGMA {setting}")
        return database

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        name = self._layout.name
        try:
            yield
        except sqlite3.OperationalError as error:
            words = str(error)
            if "locked" in words or "busy" in words:
                raise ToolError(f"Another process writes to {name}; try again") from None
            raise ToolError(
                f"The file of {name} cannot be used: {words}. Nothing was changed"
            ) from None
        except sqlite3.DatabaseError as error:
            raise ToolError(
                f"The file of {name} is damaged: {error}. Nothing was changed"
            ) from None

    # -- opening ------------------------------------------------------------------------------

    def _prepare(self) -> None:
        name, place = self._layout.name, repr(str(self.path))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Made by hand first: what is kept is for its owner's eyes.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with contextlib.closing(self._connect()) as database:
                self._check(database)
        except OSError as error:
            whole = name[0].upper() + name[1:]
            raise UsageError(f"{whole} cannot be kept in {place}: {error.strerror}") from None
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{place} is no usable file: {error}. It was left as it is") from None

    def _check(self, database: sqlite3.Connection) -> None:
        # Before anything is written: write-ahead mode is written into the file itself.
        self._find_version(database)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        # Two processes may begin with the same new file; whoever comes second finds it made.
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
        """The format of the file; None for a new one. UsageError for one not ours to open."""
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (version,) = database.execute("PRAGMA user_version").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables == 0:
            return None
        place = repr(str(self.path))
        if application != int.from_bytes(self._layout.application, "big"):
            raise UsageError(f"{place} is a database of another program; name another place")
        if version > self._layout.version:
            raise UsageError(
                f"{place} was written by a later version of dovetail (format {version}; this one "
                f"knows up to {self._layout.version}). It was left as it is"
            )
        return int(version)


def _run(database: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";\n"):
        database.execute(statement)
