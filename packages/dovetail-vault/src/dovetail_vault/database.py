"""The index file: SQLite in write-ahead mode, shared by all servers of a vault.

Several processes can read and write at once: readers see a consistent snapshot and never wait,
writers take turns. The index can be rebuilt from the notes, so a file of another version or a
damaged one is deleted.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dovetail_vault.process_names import is_of_ended_process, own_process_name

__all__ = ["connect", "index_folder", "open_index", "transaction"]

_VERSION = 7
_NAME = "index.sqlite"
# Prefix of the folder of an index that cannot be in the cache directory.
_TEMPORARY = "dovetail-vault-"
_BUSY_TIMEOUT_MS = 30_000

_SCHEMA = """
CREATE TABLE notes(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT UNIQUE NOT NULL, leaf TEXT NOT NULL,
  title TEXT NOT NULL, folded_title TEXT NOT NULL, title_line INTEGER NOT NULL,
  folded_path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  inode INTEGER NOT NULL, etag TEXT NOT NULL, state TEXT NOT NULL, frontmatter TEXT NOT NULL,
  doubtful INTEGER NOT NULL);
CREATE INDEX notes_leaf ON notes(leaf);
CREATE INDEX notes_mtime ON notes(mtime_ns);
CREATE TABLE aliases(note INTEGER NOT NULL, alias TEXT NOT NULL, folded TEXT NOT NULL);
CREATE INDEX aliases_note ON aliases(note);
CREATE TABLE tags(note INTEGER NOT NULL, tag TEXT NOT NULL, folded TEXT NOT NULL);
CREATE INDEX tags_note ON tags(note);
CREATE INDEX tags_folded ON tags(folded);
CREATE TABLE links(note INTEGER NOT NULL, leaf TEXT NOT NULL, target TEXT NOT NULL,
  kind TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX links_note ON links(note);
CREATE INDEX links_leaf ON links(leaf);
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT UNIQUE NOT NULL);
CREATE TABLE segments(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, span INTEGER NOT NULL);
CREATE TABLE postings(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE fresh(note INTEGER PRIMARY KEY, levels BLOB NOT NULL);
CREATE TABLE vectors(id INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL,
  note INTEGER NOT NULL, line INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE INDEX vectors_note ON vectors(note);
CREATE TABLE embedded(note INTEGER NOT NULL, model TEXT NOT NULL,
  PRIMARY KEY(note, model)) WITHOUT ROWID;
CREATE TABLE marks(name TEXT PRIMARY KEY);
CREATE TABLE changes(seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
  note INTEGER NOT NULL, path TEXT NOT NULL);
"""


def index_folder(vault: Path) -> Path:
    """Return the index directory of a vault, in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    name = hashlib.blake2b(os.fsencode(vault), digest_size=10).hexdigest()
    return Path(home) / "dovetail" / "vault" / f"{vault.name[:40]}-{name}"


def open_index(folder: Path) -> Path:
    """Return the path of the index file; creates it if it is missing or not usable.

    If the folder is not writable, uses a temporary one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _prepare(folder)
    except (OSError, sqlite3.OperationalError):
        _delete_leftovers(Path(tempfile.gettempdir()))
        return _prepare(Path(tempfile.mkdtemp(prefix=f"{_TEMPORARY}{own_process_name()}")))


def _delete_leftovers(folder: Path) -> None:
    """Delete the temporary indexes of processes that have ended."""
    for path in folder.glob(f"{_TEMPORARY}*"):
        if is_of_ended_process(path.name) and path.lstat().st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)


def _prepare(folder: Path) -> Path:
    path = folder / _NAME
    files = (path, folder / f"{_NAME}-wal", folder / f"{_NAME}-shm")
    lock = os.open(folder / "create.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for file in files:
            # Earlier versions let other users read the index. SQLite copies these permissions to
            # the files that it creates next to it.
            with contextlib.suppress(OSError):
                file.chmod(0o600)
        if not _is_usable(path):
            for leftover in files:
                leftover.unlink(missing_ok=True)
            # SQLite would create it with the permissions that the umask leaves.
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute("PRAGMA page_size = 8192")
                database.execute("PRAGMA journal_mode = WAL")
                database.executescript(_SCHEMA)
                database.execute(f"PRAGMA user_version = {_VERSION}")
                database.commit()
    finally:
        os.close(lock)
    return path


def _is_usable(path: Path) -> bool:
    if not path.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            database.execute("SELECT count(*) FROM segments").fetchone()
            return bool(version == _VERSION)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            # Another process uses it; deleting it would take it away from that one.
            raise
        return False


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection; transactions are started explicitly."""
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    database.execute(f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_MS}")
    # The index can be rebuilt, so there is no need to wait for the disk.
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = -8192")
    database.execute("PRAGMA mmap_size = 0")
    database.execute("PRAGMA temp_store = MEMORY")
    return database


@contextlib.contextmanager
def transaction(database: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Run a transaction; an exception rolls it back. Use `DEFERRED` to read a snapshot."""
    database.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
