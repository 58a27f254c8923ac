"""Compute missing vectors in a background thread with low priority.

One server process of a vault does this work, as with the index; the others read its results. The
first pass over a large vault takes long (about 10 ms per passage), so the last modified notes come
first, and search results report the progress.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import threading
from pathlib import Path

from dovetail import ToolError, UsageError
from dovetail_serverkit.embedding import Embedder
from dovetail_vault.database import connect, transaction
from dovetail_vault.folders import Root
from dovetail_vault.note import Note
from dovetail_vault.note_files import decode_note, read_note_file
from dovetail_vault.passages import Passage, passages_of
from dovetail_vault.vectors import find_unembedded, save_vectors

__all__ = ["VectorWorker"]

logger = logging.getLogger("dovetail")

# Notes fetched at a time: a note changed just now waits for at most this many.
_FETCH = 128
# Passages that are embedded and stored together.
_BATCH = 16
_POLL_INTERVAL = 0.5
_NICE = 10


class VectorWorker:
    """A thread that computes vectors with one model."""

    def __init__(self, root: Root, index_path: Path, embedder: Embedder) -> None:
        self._root = root
        self._index_path = index_path
        self._embedder = embedder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vault-vectors", daemon=True)
        # Why the thread stopped, if it did.
        self.problem: str | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after the current batch."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        lock = os.open(
            self._index_path.parent / "vectors.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        with contextlib.suppress(OSError):
            # On Linux each thread has its own priority; searches go first.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            if self._wait_for_turn(lock):
                with contextlib.closing(connect(self._index_path)) as database:
                    self._work(database)
        except (OSError, sqlite3.Error, UsageError, ValueError) as error:
            if not self._stop.is_set():
                self.problem = str(error)
                logger.exception("Vectors of %s are no longer updated", self._root.path)
        finally:
            os.close(lock)

    def _wait_for_turn(self, lock: int) -> bool:
        while not self._stop.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._stop.wait(_POLL_INTERVAL)
            else:
                return True
        return False

    def _work(self, database: sqlite3.Connection) -> None:
        checked: int | None = None
        while not self._stop.is_set():
            (version,) = database.execute("PRAGMA data_version").fetchone()
            if version == checked:
                self._stop.wait(_POLL_INTERVAL)
                continue
            pending = find_unembedded(database, self._embedder.name, _FETCH)
            # If there is nothing to do, wait until the database changes.
            checked = version if not pending else None
            self._embed_all(database, pending)

    def _embed_all(self, database: sqlite3.Connection, notes: list[tuple[int, str]]) -> None:
        group: list[tuple[int, list[Passage]]] = []
        for number, path in notes:
            if self._stop.is_set():
                return
            group.append((number, self._passages(path)))
            if sum(len(passages) for _, passages in group) >= _BATCH:
                self._embed(database, group)
                group = []
        self._embed(database, group)

    def _passages(self, path: str) -> list[Passage]:
        try:
            file = read_note_file(self._root, path.split("/"))
            return [] if file is None else passages_of(Note(path, decode_note(file.data)[0]))
        except (ToolError, ValueError, RecursionError):
            # A note that cannot be parsed has no vectors; it must not stop the others.
            return []

    def _embed(self, database: sqlite3.Connection, group: list[tuple[int, list[Passage]]]) -> None:
        if not group:
            return
        texts = [passage.text for _, passages in group for passage in passages]
        vectors = self._embedder.embed(texts)
        embedded, start = [], 0
        for number, passages in group:
            embedded.append((number, passages, vectors[start : start + len(passages)]))
            start += len(passages)
        with transaction(database):
            save_vectors(database, self._embedder.name, embedded)
