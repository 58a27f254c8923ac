"""Keep the index up to date with the files: a first pass, a file watcher, and periodic sweeps.

One server process of a vault does this work. It holds a lock that the system releases when the
process dies, so that another process takes over. Searches do not wait for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import watchfiles

from dovetail_vault.database import connect, transaction
from dovetail_vault.folders import Entry, Root
from dovetail_vault.index_writer import IndexWriter
from dovetail_vault.note_files import TEMPORARY_SUFFIX
from dovetail_vault.parsed_notes import read_and_parse
from dovetail_vault.paths import MAX_PATH, NOTE_SUFFIX, is_hidden
from dovetail_vault.process_names import is_of_ended_process
from dovetail_vault.reader_process import NoteReaders, build_segment

__all__ = ["Crawler", "is_marked_complete", "mark_complete"]

logger = logging.getLogger("dovetail")

# Maximum number of notes per segment, which are in memory at the same time.
_SEGMENT = 8192
# With more changed notes than this, worker processes parse them.
_MANY = 2_000
# Up to this many notes are stored as fresh rows instead of a segment.
_FEW = 64
_SWEEP_EVERY = 30.0
# Sweep interval without a file watcher (network file system, too many folders).
_SWEEP_UNWATCHED = 1.0
_TAKE_OVER_EVERY = 0.5
_STALE_TEMPORARY = 600.0
_WATCH_MS = 400
# The mark in the index while the server's process parses notes.
_PARSING = "parsing"


class Crawler:
    """A thread that keeps one index up to date."""

    def __init__(self, root: Root, index_path: Path) -> None:
        self._root = root
        self._index_path = index_path
        self._stop = threading.Event()
        # Set once the index has contained all notes.
        self.complete = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vault-crawler", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after the current write."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        lock = os.open(
            self._index_path.parent / "crawler.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            if self._wait_for_turn(lock):
                self._work()
        except (OSError, sqlite3.Error):
            if not self._stop.is_set():
                logger.exception("The index of %s is no longer updated", self._root.path)
        finally:
            os.close(lock)

    def _wait_for_turn(self, lock: int) -> bool:
        while not self._stop.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Another process does the work; the index shows when it is complete.
                self._check_complete()
                self._stop.wait(_TAKE_OVER_EVERY)
            else:
                return True
        return False

    def _check_complete(self) -> None:
        if not self.complete.is_set():
            with contextlib.closing(connect(self._index_path)) as database:
                if is_marked_complete(database):
                    self.complete.set()

    def _work(self) -> None:
        with contextlib.closing(connect(self._index_path)) as database:
            pass_ = _Pass(self._root, database, self._stop)
            pass_.rebuild_if_needed()
            pass_.sweep()
            pass_.end_first_pass()
            mark_complete(database)
            self.complete.set()
            _delete_leftovers(self._root.path)
            last_sweep, cost = time.monotonic(), 0.0
            for changed, is_watched in self._watch():
                if changed is None:
                    pass_.sweep()
                elif changed:
                    pass_.update(changed)
                pause = _SWEEP_EVERY if is_watched else max(_SWEEP_UNWATCHED, 10 * cost)
                if time.monotonic() - last_sweep > pause:
                    started = time.monotonic()
                    pass_.sweep()
                    last_sweep = time.monotonic()
                    cost = last_sweep - started

    def _watch(self) -> Iterator[tuple[set[str] | None, bool]]:
        """Yield sets of changed paths, and whether a file watcher is active.

        None stands for any path: changes before the watcher was ready are unknown.
        """
        try:
            while not self._stop.is_set():
                # A folder may be deleted before it is watched.
                with contextlib.suppress(FileNotFoundError):
                    yield from self._watch_folders([path for path, _ in _visible(self._root.path)])
        except (OSError, RuntimeError) as error:
            logger.warning(
                "No file watcher for %s (%s); using periodic sweeps", self._root.path, error
            )
        while not self._stop.wait(_SWEEP_UNWATCHED):
            yield set(), False

    def _watch_folders(self, folders: list[str]) -> Iterator[tuple[set[str] | None, bool]]:
        """Watch these folders until one is added or removed.

        The watcher could find subfolders itself, but it follows symbolic links.
        """
        if not folders:
            raise OSError("the folder is missing")
        watched = set(folders)
        is_ready = False
        for changes in watchfiles.watch(
            *folders,
            watch_filter=None,
            stop_event=self._stop,
            debounce=200,
            step=50,
            rust_timeout=_WATCH_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            recursive=False,
        ):
            paths = {path for _, path in changes}
            yield (
                {os.path.relpath(path, self._root.path) for path in paths} if is_ready else None,
                True,
            )
            is_ready = True
            paths.discard(str(self._root.path))
            if any(_is_visible_folder(path) != (path in watched) for path in paths):
                return


def is_marked_complete(database: sqlite3.Connection) -> bool:
    """Whether the index has contained all notes once."""
    return _has_mark(database, "complete")


def _has_mark(database: sqlite3.Connection, name: str) -> bool:
    return database.execute("SELECT 1 FROM marks WHERE name = ?", (name,)).fetchone() is not None


def mark_complete(database: sqlite3.Connection) -> None:
    """Record that the index contains all notes."""
    with transaction(database):
        database.execute("INSERT OR IGNORE INTO marks VALUES ('complete')")
        database.execute("INSERT INTO changes(kind, note, path) VALUES ('complete', 0, '')")


class _Pass:
    """Compares files with the index and stores the differences."""

    def __init__(self, root: Root, database: sqlite3.Connection, stop: threading.Event) -> None:
        self._root = root
        self._database = database
        self._stop = stop
        self._writer = IndexWriter(database)
        # If the last server ended while it parsed, a note may have crashed it.
        self._only_workers = _has_mark(database, _PARSING)

    def rebuild_if_needed(self) -> None:
        """Reset the index if many edits have made it large or slow; done only at startup."""
        if self._writer.needs_rebuild():
            self._writer.reset()

    def end_first_pass(self) -> None:
        """Forget that the last server ended while it parsed: its notes are indexed now."""
        if self._only_workers:
            self._database.execute("DELETE FROM marks WHERE name = ?", (_PARSING,))
            self._only_workers = False

    def sweep(self, parts: tuple[str, ...] = ()) -> None:
        """Compare files with the index by size and time, and store the differences."""
        known = self._known(parts)
        changed = [
            entry
            for entry in self._root.walk(parts)
            if known.pop(entry.path, None) != (entry.size, entry.mtime_ns, entry.inode)
        ]
        if self._stop.is_set():
            return
        if known:
            self._writer.remove(known)
        self._store(changed)

    def _known(self, parts: tuple[str, ...]) -> dict[str, tuple[int, int, int]]:
        prefix = "".join(f"{part}/" for part in parts)
        rows = self._database.execute(
            "SELECT path, size, mtime_ns, inode FROM notes WHERE path >= ? AND path < ?",
            (prefix, f"{prefix[:-1]}0" if prefix else "\U0010ffff"),
        )
        return {path: (size, mtime, inode) for path, size, mtime, inode in rows}

    def _store(self, changed: list[Entry]) -> None:
        if not changed:
            return
        changed.sort()
        if self._only_workers or len(changed) > _MANY:
            self._store_with_workers(changed)
            return
        with self._parsing():
            if len(changed) <= _FEW:
                self._store_few(changed)
            else:
                self._writer.store_many(build_segment(self._root, self._until_stopped(changed)))

    @contextlib.contextmanager
    def _parsing(self) -> Iterator[None]:
        """Mark that this process parses notes; the mark stays if a note crashes the process."""
        self._database.execute("INSERT OR IGNORE INTO marks VALUES (?)", (_PARSING,))
        try:
            yield
        finally:
            self._database.execute("DELETE FROM marks WHERE name = ?", (_PARSING,))

    def _store_with_workers(self, changed: list[Entry]) -> None:
        with NoteReaders(self._root) as readers:
            for segment in readers.read(changed, _SEGMENT):
                if self._stop.is_set():
                    return
                self._writer.store_many(segment)
                # Free it before the next one is decoded: it takes megabytes.
                del segment

    def _until_stopped(self, entries: list[Entry]) -> Iterator[Entry]:
        return itertools.takewhile(lambda _: not self._stop.is_set(), entries)

    def _store_few(self, changed: Iterable[Entry]) -> None:
        parsed = [read_and_parse(self._root, entry.path, entry) for entry in changed]
        self._writer.store([note for note in parsed if note is not None])

    def update(self, paths: set[str]) -> None:
        """Read changed notes again; sweep changed folders."""
        notes, folders = set(), set()
        for path in paths:
            if any(map(is_hidden, path.split("/"))):
                continue
            if path.endswith(NOTE_SUFFIX) and not (self._root.path / path).is_dir():
                notes.add(path)
            else:
                folders.add(path)
        if len(notes) > _FEW:
            self.sweep()
            return
        for folder in folders:
            self.sweep(tuple(folder.split("/")))
        self._update_notes(notes)

    def _update_notes(self, paths: set[str]) -> None:
        deleted, found = [], []
        with self._parsing():
            read = [read_and_parse(self._root, path, self._entry(path)) for path in sorted(paths)]
        for path, parsed in zip(sorted(paths), read, strict=True):
            row = self._database.execute(
                "SELECT etag FROM notes WHERE path = ?", (path,)
            ).fetchone()
            if parsed is None:
                if row is not None:
                    deleted.append(path)
            elif row is None or row[0] != parsed.etag or not row[0]:
                found.append(parsed)
        if deleted:
            self._writer.remove(deleted)
        self._writer.store(found)

    def _entry(self, path: str) -> Entry | None:
        try:
            status = os.stat(self._root.path / path, follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return Entry(path, status.st_size, status.st_mtime_ns, status.st_ino)


def _visible(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder and its files; hidden folders and symbolic links are skipped."""
    for folder, folders, names in os.walk(root):
        is_deep = len(folder) - len(str(root)) > MAX_PATH
        folders[:] = [name for name in folders if not is_hidden(name) and not is_deep]
        yield folder, names


def _is_visible_folder(path: str) -> bool:
    if is_hidden(os.path.basename(path)):
        return False
    return os.path.isdir(path) and not os.path.islink(path)


def _delete_leftovers(root: Path) -> None:
    """Delete temporary files of writes that a crash interrupted."""
    for folder, names in _visible(root):
        for name in names:
            if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX):
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    age = time.time() - os.lstat(path).st_mtime
                    if is_of_ended_process(name) or age > _STALE_TEMPORARY:
                        os.unlink(path)
