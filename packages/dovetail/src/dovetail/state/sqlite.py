"""A backend in an SQLite file, which the processes of one machine may share.

One thread has the connection. It carries out everything that waits in one transaction, so that
many writes share one sync of the disk. Values, logs and leases are on the disk before a method
returns; limits and messages survive the process, but not a power failure.
"""

from __future__ import annotations

import asyncio
import os
import queue
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from dovetail.errors import StoreError
from dovetail.state.backend import (
    ABSENT,
    Backend,
    Entry,
    Inbox,
    Lease,
    Limit,
    LogPage,
    Published,
    Refusal,
    Retention,
    Value,
)

__all__ = ["SQLiteBackend"]

T = TypeVar("T")

_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS "values" (
  key TEXT PRIMARY KEY, data BLOB NOT NULL, version INTEGER NOT NULL, expires REAL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS values_by_expiry ON "values" (expires) WHERE expires IS NOT NULL;
-- total and number: the bytes and the entries of the log up to this one.
CREATE TABLE IF NOT EXISTS entries (
  position INTEGER PRIMARY KEY AUTOINCREMENT, log TEXT NOT NULL, previous INTEGER NOT NULL,
  number INTEGER NOT NULL, total INTEGER NOT NULL, written REAL NOT NULL, expires REAL NOT NULL,
  data BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_log ON entries (log, position);
CREATE INDEX IF NOT EXISTS entries_by_expiry ON entries (expires);
CREATE TABLE IF NOT EXISTS levels (
  name TEXT PRIMARY KEY, level REAL NOT NULL, seen REAL NOT NULL, full REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holders (
  name TEXT NOT NULL, holder TEXT NOT NULL, expires REAL NOT NULL, PRIMARY KEY (name, holder)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (
  name TEXT PRIMARY KEY, token INTEGER NOT NULL, expires REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (last INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT, channel TEXT NOT NULL, data BLOB NOT NULL
);
"""
# Seconds that a transaction waits for another process, and between two looks for messages of
# other processes while somebody has subscribed.
_BUSY = 10.0
_LOOK = 0.03
# Seconds between two searches for what has expired, and messages that are kept.
_SWEEP = 10.0
_MESSAGES = 10_000
# What is carried out in one transaction.
_BATCH = 200
_WHOLE = 1 - 1e-9


class _Job(NamedTuple):
    function: Callable[[], Any]
    # Whether it writes, and whether that must be on the disk.
    writes: bool
    durable: bool
    done: Callable[[Any, Exception | None], None]


class SQLiteBackend(Backend):
    """State in a file."""

    is_local = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: Thread | None = None
        self._database: sqlite3.Connection
        self._inboxes: dict[str, list[Inbox]] = {}
        # The last message that was delivered.
        self._delivered = 0
        self._sweep_at = 0.0

    # -- the thread -----------------------------------------------------------------------------

    async def open(self) -> None:
        """Open or create the file; raises StoreError if that fails."""
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs = queue.SimpleQueue()
        done = _teller(started)
        self._thread = Thread(target=self._work, args=(done,), name="dovetail-state", daemon=True)
        self._thread.start()
        await started

    async def close(self) -> None:
        """Close the file."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            await asyncio.to_thread(thread.join)

    def _work(self, started: Callable[[Any, Exception | None], None]) -> None:
        try:
            self._connect()
        except (OSError, sqlite3.Error) as error:
            started(None, StoreError(f"{str(self._path)!r} cannot be used: {error}"))
            return
        started(None, None)
        is_open = True
        while is_open:
            batch: list[_Job] = []
            with suppress(queue.Empty):
                job = self._jobs.get(timeout=_LOOK if self._inboxes else None)
                while job is not None:
                    batch.append(job)
                    if len(batch) == _BATCH:
                        break
                    job = self._jobs.get_nowait()
                is_open = job is not None
            if batch:
                self._carry_out(batch)
            if self._inboxes:
                with suppress(sqlite3.Error):
                    self._deliver()
        self._database.close()

    def _connect(self) -> None:
        # Created before SQLite does it, so that only the owner can read it.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        self._database = sqlite3.connect(self._path, timeout=_BUSY, isolation_level=None)
        deadline = time.monotonic() + _BUSY
        while True:
            # SQLite does not wait for the lock that a new file needs when it is switched to WAL.
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOOK)
        self._database.execute("BEGIN IMMEDIATE")
        [version] = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, _FORMAT):
            raise sqlite3.Error(f"it has the format {version}, supported: {_FORMAT}")
        for statement in _SCHEMA.split(";\n"):
            self._database.execute(statement)
        self._database.execute(
            "INSERT INTO tokens SELECT 0 WHERE NOT EXISTS (SELECT * FROM tokens)"
        )
        self._database.execute(f"PRAGMA user_version = {_FORMAT}")
        self._database.execute("COMMIT")

    def _carry_out(self, batch: list[_Job]) -> None:
        """Run jobs in one transaction, and tell their outcomes when it has been committed."""
        run = self._database.execute
        outcomes: list[tuple[Any, Exception | None]] = []
        try:
            run(f"PRAGMA synchronous = {'FULL' if any(job.durable for job in batch) else 'NORMAL'}")
            run("BEGIN IMMEDIATE" if any(job.writes for job in batch) else "BEGIN")
            for job in batch:
                run("SAVEPOINT job")
                try:
                    outcomes.append((job.function(), None))
                except Exception as error:  # noqa: BLE001 - raised where the job is awaited
                    run("ROLLBACK TO job")
                    outcomes.append((None, _to_store_error(error)))
                run("RELEASE job")
            if any(job.writes for job in batch):
                self._sweep()
            run("COMMIT")
            if any(job.writes for job in batch):
                self.problem = None
        except sqlite3.Error as error:
            if self._database.in_transaction:
                with suppress(sqlite3.Error):
                    run("ROLLBACK")
            self.problem = str(error)
            outcomes = [(None, _to_store_error(error))] * len(batch)
        for job, outcome in zip(batch, outcomes, strict=True):
            job.done(*outcome)

    def _sweep(self) -> None:
        now = time.time()
        if now < self._sweep_at:
            return
        self._sweep_at = now + _SWEEP
        for table in ('"values"', "entries", "holders", "leases"):
            self._database.execute(f"DELETE FROM {table} WHERE expires <= ?", (now,))
        self._database.execute("DELETE FROM levels WHERE full <= ?", (now,))
        self._database.execute(
            "DELETE FROM messages WHERE id <= (SELECT max(id) FROM messages) - ?", (_MESSAGES,)
        )

    async def _do(
        self, function: Callable[[], T], *, writes: bool = True, durable: bool = True
    ) -> T:
        if self._thread is None:
            raise StoreError(f"{str(self._path)!r} is not open")
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(function, writes, writes and durable, _teller(answer)))
        return await answer

    def _one(self, statement: str, *values: Any) -> Any:
        return self._database.execute(statement, values).fetchone()

    # -- values ---------------------------------------------------------------------------------

    async def get(self, key: str, *, ttl: float | None = None) -> Value | None:
        """The value of a key."""

        def run() -> Value | None:
            found = self._find(key)
            if found is not None and ttl is not None:
                self._one('UPDATE "values" SET expires = ? WHERE key = ?', time.time() + ttl, key)
            return found

        # A lost change of the expiry ends the value sooner, as if it had not been used.
        return await self._do(run, writes=ttl is not None, durable=False)

    async def set(
        self,
        key: str,
        data: bytes,
        *,
        ttl: float | None = None,
        version: int | None = None,
        fence: Lease | None = None,
    ) -> int | None:
        """Store a value; returns its version, or None if a condition is not met."""

        def run() -> int | None:
            if not self._may_write(key, version, fence):
                return None
            new = random.getrandbits(52) or 1
            expires = None if ttl is None else time.time() + ttl
            row = (key, data, new, expires)
            self._one('INSERT OR REPLACE INTO "values" VALUES (?, ?, ?, ?)', *row)
            return new

        return await self._do(run)

    async def delete(
        self, key: str, *, version: int | None = None, fence: Lease | None = None
    ) -> bool:
        """Delete a value; whether there was one to delete."""

        def run() -> bool:
            if self._find(key) is None or not self._may_write(key, version, fence):
                return False
            self._one('DELETE FROM "values" WHERE key = ?', key)
            return True

        return await self._do(run)

    async def scan(self, prefix: str) -> AsyncIterator[tuple[str, Value]]:
        """The values whose keys have this prefix."""
        after, is_done = prefix, False

        def run() -> list[tuple[str, bytes, int]]:
            return self._database.execute(
                'SELECT key, data, version FROM "values" WHERE key >= ? '
                "AND (expires IS NULL OR expires > ?) ORDER BY key LIMIT 500",
                (after, time.time()),
            ).fetchall()

        while not is_done:
            rows = await self._do(run, writes=False)
            is_done = len(rows) < 500
            for key, data, version in rows:
                if not key.startswith(prefix):
                    return
                after = f"{key}\0"
                yield key, Value(data, version)

    def _find(self, key: str) -> Value | None:
        found = self._one(
            'SELECT data, version FROM "values" WHERE key = ? AND (expires IS NULL OR expires > ?)',
            key,
            time.time(),
        )
        return None if found is None else Value(*found)

    def _may_write(self, key: str, version: int | None, fence: Lease | None) -> bool:
        if version is not None:
            found = self._find(key)
            if version != (ABSENT if found is None else found.version):
                return False
        return fence is None or self._holds(fence)

    # -- limits ---------------------------------------------------------------------------------

    async def take(
        self, limits: Sequence[Limit], *, holder: str = "", ttl: float = 0.0
    ) -> Refusal | None:
        """Take a token of every limit, or of none if one of them is reached."""

        def run() -> Refusal | None:
            now = time.time()
            levels = []
            for position, limit in enumerate(limits):
                if not limit.per_second:
                    self._one("DELETE FROM holders WHERE expires <= ?", now)
                    [count, has_own] = self._one(
                        "SELECT count(*), ifnull(max(holder = ?), 0) FROM holders WHERE name = ?",
                        holder,
                        limit.name,
                    )
                    if count >= limit.capacity and not has_own:
                        return Refusal(position, 0.0)
                    continue
                found = self._one("SELECT level, seen FROM levels WHERE name = ?", limit.name)
                level, seen = found or (limit.capacity, now)
                level = min(limit.capacity, level + max(0.0, now - seen) * limit.per_second)
                if level < _WHOLE:
                    return Refusal(position, (1 - level) / limit.per_second)
                full = now + (limit.capacity - level + 1) / limit.per_second
                levels.append((limit.name, level - 1, now, full))
            insert = "INSERT OR REPLACE INTO"
            self._database.executemany(f"{insert} levels VALUES (?, ?, ?, ?)", levels)
            for limit in limits:
                if not limit.per_second:
                    self._one(f"{insert} holders VALUES (?, ?, ?)", limit.name, holder, now + ttl)
            return None

        return await self._do(run, durable=False)

    async def give_back(self, names: Sequence[str], holder: str) -> None:
        """Give back the tokens of a holder."""
        rows = [(name, holder) for name in names]

        def run() -> None:
            self._database.executemany("DELETE FROM holders WHERE name = ? AND holder = ?", rows)

        await self._do(run, durable=False)

    # -- logs -----------------------------------------------------------------------------------

    async def append(
        self, log: str, data: bytes, retention: Retention, *, fence: Lease | None = None
    ) -> int | None:
        """Append an entry and trim the log; returns its position, or None without the lease."""

        def run() -> int | None:
            if fence is not None and not self._holds(fence):
                return None
            now = time.time()
            previous, number, total = self._one(
                "SELECT position, number, total FROM entries WHERE log = ? AND expires > ? "
                "ORDER BY position DESC LIMIT 1",
                log,
                now,
            ) or (0, 0, 0)
            number, total = number + 1, total + len(data)
            [position] = self._one(
                "INSERT INTO entries (log, previous, number, total, written, expires, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING position",
                *(log, previous, number, total, now, now + retention.max_age, data),
            )
            self._one(
                "DELETE FROM entries WHERE log = ? AND position < ? "
                "AND (number <= ? OR total - length(data) < ? OR written <= ?)",
                *(log, position, number - retention.max_entries, total - retention.max_bytes),
                now - retention.max_age,
            )
            self._add_message(log, b"")
            return int(position)

        return await self._do(run)

    async def read(self, log: str, after: int = 0, limit: int = 1000) -> LogPage:
        """The first entries after a position."""

        def run() -> LogPage:
            rows = self._database.execute(
                "SELECT position, previous, data FROM entries WHERE log = ? AND position >= ? "
                "AND expires > ? ORDER BY position LIMIT ?",
                (log, after, time.time(), limit + 1),
            ).fetchall()
            is_complete = after in rows[0][:2] if rows else after == 0
            entries = [Entry(position, data) for position, _, data in rows if position > after]
            return LogPage(entries[:limit], not is_complete)

        return await self._do(run, writes=False)

    async def drop(self, log: str) -> None:
        """Delete a log."""
        await self._do(lambda: self._one("DELETE FROM entries WHERE log = ?", log))

    # -- messages -------------------------------------------------------------------------------

    async def publish(self, channel: str, data: bytes) -> None:
        """Send a message to all subscribers."""
        await self._do(lambda: self._add_message(channel, data), durable=False)

    def _add_message(self, channel: str, data: bytes) -> None:
        self._one("INSERT INTO messages (channel, data) VALUES (?, ?)", channel, data)

    @asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Published]]:
        """Receive the messages that are published while the context is open."""
        inbox = Inbox()

        def add() -> None:
            if self._inboxes:
                self._deliver()
            else:
                [self._delivered] = self._one("SELECT ifnull(max(id), 0) FROM messages")
            for channel in channels:
                self._inboxes.setdefault(channel, []).append(inbox)

        def remove() -> None:
            for channel in channels:
                self._inboxes[channel].remove(inbox)
                if not self._inboxes[channel]:
                    del self._inboxes[channel]

        await self._do(add, writes=False)
        try:
            yield inbox
        finally:
            with suppress(StoreError):
                await self._do(remove, writes=False)

    def _deliver(self) -> None:
        """Pass on new messages, of this process and of others."""
        while True:
            rows = self._database.execute(
                "SELECT id, channel, data FROM messages WHERE id > ? ORDER BY id LIMIT 500",
                (self._delivered,),
            ).fetchall()
            if rows and rows[0][0] != self._delivered + 1:
                for inbox in {each for inboxes in self._inboxes.values() for each in inboxes}:
                    inbox.put(Published("", None))
            for id, channel, data in rows:
                self._delivered = id
                for inbox in self._inboxes.get(channel, ()):
                    inbox.put(Published(channel, data))
            if len(rows) < 500:
                return

    # -- leases ---------------------------------------------------------------------------------

    async def acquire(self, name: str, holder: str, ttl: float) -> Lease | None:
        """Get a name for `ttl` seconds; None if it is held."""

        def run() -> Lease | None:
            now = time.time()
            if self._one("SELECT 1 FROM leases WHERE name = ? AND expires > ?", name, now):
                return None
            [token] = self._one("UPDATE tokens SET last = last + 1 RETURNING last")
            self._one("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", name, token, now + ttl)
            return Lease(name, holder, token)

        return await self._do(run)

    async def renew(self, lease: Lease, ttl: float) -> bool:
        """Keep a lease; False if it is lost."""

        def run() -> bool:
            now = time.time()
            return (
                self._one(
                    "UPDATE leases SET expires = ? WHERE name = ? AND token = ? AND expires > ? "
                    "RETURNING 1",
                    *(now + ttl, lease.name, lease.token, now),
                )
                is not None
            )

        return await self._do(run, durable=False)

    async def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still held."""
        statement = "DELETE FROM leases WHERE name = ? AND token = ?"
        await self._do(lambda: self._one(statement, lease.name, lease.token))

    def _holds(self, lease: Lease) -> bool:
        return (
            self._one(
                "SELECT 1 FROM leases WHERE name = ? AND token = ? AND expires > ?",
                *(lease.name, lease.token, time.time()),
            )
            is not None
        )


def _teller(answer: asyncio.Future[Any]) -> Callable[[Any, Exception | None], None]:
    """A function that sets a future from another thread."""
    loop = asyncio.get_running_loop()

    def settle(result: Any, error: Exception | None) -> None:
        if not answer.done():
            answer.set_result(result) if error is None else answer.set_exception(error)

    def tell(result: Any, error: Exception | None) -> None:
        # RuntimeError: the loop is closed, so nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    return tell


def _to_store_error(error: Exception) -> Exception:
    return StoreError(f"SQLite: {error}") if isinstance(error, sqlite3.Error) else error
