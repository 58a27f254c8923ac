"""Used rounds of questions in an SQLite file, which the processes of one machine share."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path

from dovetail.errors import TransportError

__all__ = ["SqliteRounds"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS rounds (id BLOB PRIMARY KEY, expires REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rounds_by_expiry ON rounds (expires);
"""
_BUSY_SECONDS = 30.0


class SqliteRounds:
    """Remembers the rounds that any process with this file has seen, also after a restart."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open or create the file; raises TransportError if that fails."""
        self._lock = threading.Lock()
        try:
            # Created first, because SQLite would create it with the permissions of the umask.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._database = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            # Power loss may forget rounds; it must not make every answer wait for the disk.
            self._database.execute("PRAGMA synchronous = OFF")
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise TransportError(f"{Path(path)} cannot store used rounds: {error}") from None

    def use(self, id: bytes, lifetime: float) -> bool:
        """Record a round for `lifetime` seconds; False if it is recorded already."""
        now = time.time()
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._database.execute("DELETE FROM rounds WHERE expires <= ?", (now,))
                added = self._database.execute(
                    "INSERT OR IGNORE INTO rounds VALUES (?, ?)", (id, now + lifetime)
                )
            finally:
                self._database.execute("COMMIT")
            return added.rowcount == 1

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()
