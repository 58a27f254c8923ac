"""A persistent task store in an SQLite file, which several processes may share.

The write-ahead log (WAL) allows reads during a write, and survives a killed process. WAL needs
shared memory, so all processes are on one machine. There, a file lock shows which processes are
alive: the operating system releases it when a process ends, however it ends. A process that finds
tasks of a dead process takes them over in one transaction, so only one process gets them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from dovetail.errors import TransportError
from dovetail.stores.tasks import TaskRow
from dovetail.stores.tasks_memory import too_many

__all__ = ["SqliteTaskStore"]

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT,
  revision TEXT NOT NULL,
  status TEXT NOT NULL,
  message TEXT,
  created REAL NOT NULL,
  updated REAL NOT NULL,
  expires REAL,
  worker TEXT,
  request BLOB NOT NULL,
  record BLOB,
  asks BLOB,
  result BLOB,
  error BLOB
);
CREATE INDEX IF NOT EXISTS tasks_by_owner ON tasks (owner, number);
CREATE INDEX IF NOT EXISTS tasks_by_expiry ON tasks (expires) WHERE expires IS NOT NULL;
CREATE INDEX IF NOT EXISTS tasks_at_work ON tasks (worker)
  WHERE status IN ('working', 'input_required');
CREATE TABLE IF NOT EXISTS owners (owner TEXT PRIMARY KEY, tasks INTEGER NOT NULL);
CREATE TRIGGER IF NOT EXISTS task_added AFTER INSERT ON tasks BEGIN
  INSERT INTO owners VALUES (coalesce('=' || new.owner, ''), 1)
    ON CONFLICT (owner) DO UPDATE SET tasks = tasks + 1;
END;
CREATE TRIGGER IF NOT EXISTS task_removed AFTER DELETE ON tasks BEGIN
  UPDATE owners SET tasks = tasks - 1 WHERE owner = coalesce('=' || old.owner, '');
  DELETE FROM owners WHERE tasks <= 0;
END;
CREATE TABLE IF NOT EXISTS answers (task TEXT NOT NULL, answers BLOB NOT NULL);
"""
_COLUMNS = ", ".join(field.name for field in fields(TaskRow))
_PLACES = ", ".join(f":{field.name}" for field in fields(TaskRow) if field.name != "number")
_AT_WORK = "status IN ('working', 'input_required')"
_BUSY_SECONDS = 30.0
# The lock file of the process that prepares the database.
_OPENING = "opening"


class SqliteTaskStore:
    """Stores tasks in a file. Thread-safe: a lock serializes the calls."""

    blocks = True
    is_shared = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open or create the file; raises TransportError if that fails."""
        self._path = Path(path)
        self._lock = threading.Lock()
        self.worker = secrets.token_hex(8)
        self._workers = Path(f"{self._path}-workers")
        self._alive: int | None = None
        try:
            self._workers.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._alive = self._hold(self.worker)
            # Created before SQLite does it, so that only the owner can read it.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            self._db = sqlite3.connect(
                self._path,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            # One process at a time: SQLite does not wait for the lock that a new file needs when it
            # is switched to WAL.
            opening = self._hold(_OPENING)
            try:
                self._prepare()
            except sqlite3.Error:
                self._db.close()
                raise
            finally:
                (self._workers / _OPENING).unlink(missing_ok=True)
                os.close(opening)
        except (OSError, sqlite3.Error) as error:
            self._release()
            raise TransportError(f"Cannot use {str(path)!r} as a task store: {error}") from None
        self._seen = self._version()

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        # Commits survive the process but not a power loss; syncing each change to the disk would
        # cost milliseconds.
        self._db.execute("PRAGMA synchronous = NORMAL")
        with self._transaction():
            [version] = self._db.execute("PRAGMA user_version").fetchone()
            if version > _SCHEMA_VERSION:
                raise sqlite3.Error(
                    f"it was created by a newer version (format {version}, supported: "
                    f"{_SCHEMA_VERSION})"
                )
            for statement in re.split(r";\n(?=CREATE|$)", _SCHEMA):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # -- live processes ---------------------------------------------------------------------

    def _hold(self, worker: str) -> int:
        path = self._workers / worker
        while True:
            held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(held, fcntl.LOCK_EX)
            # Another process may have deleted the file before it was locked.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(held).st_ino:
                    return held
            os.close(held)

    def _is_gone(self, worker: str) -> bool:
        """Whether no process holds the lock of this worker; its file is deleted then."""
        path = self._workers / worker
        try:
            found = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            path.unlink(missing_ok=True)
            return True
        finally:
            os.close(found)

    def _release(self) -> None:
        if self._alive is not None:
            (self._workers / self.worker).unlink(missing_ok=True)
            os.close(self._alive)
            self._alive = None

    # -- rows -------------------------------------------------------------------------------

    def add(self, row: TaskRow, most: int) -> None:
        """Add a task."""
        row.worker = self.worker
        with self._lock, self._transaction():
            found = self._db.execute(
                "SELECT tasks FROM owners WHERE owner = coalesce('=' || ?, '')", (row.owner,)
            ).fetchone()
            if found is not None and found[0] >= most:
                raise too_many(most)
            columns = _COLUMNS.removesuffix(", number")
            added = self._db.execute(
                f"INSERT INTO tasks ({columns}) VALUES ({_PLACES})", _members(row)
            )
            row.number = added.lastrowid or 0

    def get(self, id: str) -> TaskRow | None:
        """The task with this id."""
        with self._lock:
            found = self._db.execute(f"SELECT {_COLUMNS} FROM tasks WHERE id = ?", (id,)).fetchone()
        return None if found is None else _row(found)

    def save(self, row: TaskRow) -> bool:
        """Update a task unless it has ended."""
        with self._lock:
            changed = self._db.execute(
                "UPDATE tasks SET status = :status, message = :message, updated = :updated, "
                "worker = :worker, record = :record, asks = :asks, result = :result, "
                f"error = :error WHERE id = :id AND {_AT_WORK}",
                _members(row),
            )
            return changed.rowcount == 1

    def page(self, owner: str | None, revision: str | None, after: int, size: int) -> list[TaskRow]:
        """Tasks in the order of their numbers."""
        with self._lock:
            found = self._db.execute(
                f"SELECT {_COLUMNS} FROM tasks WHERE number > :after "
                "AND (:owner IS NULL OR owner = :owner) "
                "AND (:revision IS NULL OR revision = :revision) ORDER BY number LIMIT :size",
                {"after": after, "owner": owner, "revision": revision, "size": size},
            ).fetchall()
        return [_row(values) for values in found]

    def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Take over tasks of dead processes, and of ended event loops of this process."""
        with self._lock:
            workers = self._db.execute(
                f"SELECT DISTINCT worker FROM tasks WHERE {_AT_WORK}"
            ).fetchall()
            if not workers:
                return []
            own = (None, self.worker)
            free = [worker for [worker] in workers if worker in own or self._is_gone(worker)]
            if not free:
                return []
            with self._transaction():
                return [row for worker in free for row in self._take(worker, running)]

    def _take(self, worker: str | None, running: Sequence[str]) -> list[TaskRow]:
        found = self._db.execute(
            f"SELECT {_COLUMNS} FROM tasks WHERE {_AT_WORK} AND worker IS ?", (worker,)
        ).fetchall()
        rows = [row for row in map(_row, found) if row.id not in running]
        for row in rows:
            row.worker = self.worker
            self._db.execute("UPDATE tasks SET worker = ? WHERE id = ?", (self.worker, row.id))
        return rows

    def expire(self, now: float) -> list[str]:
        """Delete expired tasks and their uncollected answers."""
        with self._lock:
            over = [
                id for [id] in self._db.execute("SELECT id FROM tasks WHERE expires <= ?", (now,))
            ]
            if over:
                with self._transaction():
                    self._db.execute("DELETE FROM tasks WHERE expires <= ?", (now,))
                    self._db.execute("DELETE FROM answers WHERE task NOT IN (SELECT id FROM tasks)")
        return over

    # -- between processes --------------------------------------------------------------------

    def leave(self, id: str, answers: bytes) -> None:
        """Store answers for the process that runs the task."""
        with self._lock:
            self._db.execute("INSERT INTO answers VALUES (?, ?)", (id, answers))

    def collect(self) -> list[tuple[str, bytes]]:
        """Take the stored answers for tasks of this process."""
        with self._lock, self._transaction():
            found = self._db.execute(
                "SELECT answers.rowid, task, answers FROM answers JOIN tasks ON id = task "
                "WHERE worker = ? ORDER BY answers.rowid",
                (self.worker,),
            ).fetchall()
            self._db.executemany(
                "DELETE FROM answers WHERE rowid = ?", [(rowid,) for rowid, _, _ in found]
            )
        return [(task, answers) for _, task, answers in found]

    def has_changed(self) -> bool:
        """Whether another process has changed the file since the last call."""
        with self._lock:
            seen, self._seen = self._seen, self._version()
            return seen != self._seen

    def _version(self) -> int:
        [version] = self._db.execute("PRAGMA data_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Close the file; another process takes over the tasks of this one."""
        with self._lock, contextlib.suppress(sqlite3.ProgrammingError):
            self._release()
            self._db.close()


def _members(row: TaskRow) -> dict[str, Any]:
    return {field.name: getattr(row, field.name) for field in fields(TaskRow)}


def _row(values: tuple[Any, ...]) -> TaskRow:
    return TaskRow(**dict(zip(_COLUMNS.split(", "), values, strict=True)))
