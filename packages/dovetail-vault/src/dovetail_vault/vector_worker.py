"""Making the vectors that are missing, in the background, after everything else.

Of all servers of a vault one does this work, as with the index; the others read what it has made.
The first pass over a large vault takes long (some 10 ms a passage), so notes changed last come
first, and answers say how far it has come.
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
from dovetail_vault.vectors import find_unembedded, keep_vectors

__all__ = ["VectorMaker"]

logger = logging.getLogger("dovetail")

# Notes asked for at a time: what was changed just now waits for so many at most.
_LIST = 128
# Passages that are embedded together, and stored as soon as they are.
_TOGETHER = 16
_LOOK_EVERY = 0.5
_NICE = 10


class VectorMaker:
    """A thread that makes vectors with one model."""

    def __init__(self, root: Root, index_path: Path, embedder: Embedder) -> None:
        self._root = root
        self._index_path = index_path
        self._embedder = embedder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="vault-vectors", daemon=True)
        # Why no more are made, if so.
        self.problem: str | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, after what is being made now."""
        self._stop.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        lock = os.open(
            self._index_path.parent / "vectors.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        with contextlib.suppress(OSError):
            # On Linux this is the thread's own: whoever searches goes first.
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            if self._wait_for_turn(lock):
                with contextlib.closing(connect(self._index_path)) as database:
                    self._work(database)
        except (OSError, sqlite3.Error, UsageError, ValueError) as error:
            if not self._stop.is_set():
                self.problem = str(error)
                logger.exception("No more vectors are made for %s", self._root.path)
        finally:
            os.close(lock)

    def _wait_for_turn(self, lock: int) -> bool:
        while not self._stop.is_set():
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._stop.wait(_LOOK_EVERY)
            else:
                return True
        return False

    def _work(self, database: sqlite3.Connection) -> None:
        looked: int | None = None
        while not self._stop.is_set():
            (version,) = database.execute("PRAGMA data_version").fetchone()
            if version == looked:
                self._stop.wait(_LOOK_EVERY)
                continue
            waiting = find_unembedded(database, self._embedder.name, _LIST)
            # Nothing to do until somebody writes again.
            looked = version if not waiting else None
            self._make_all(database, waiting)

    def _make_all(self, database: sqlite3.Connection, notes: list[tuple[int, str]]) -> None:
        group: list[tuple[int, list[Passage]]] = []
        for number, path in notes:
            if self._stop.is_set():
                return
            group.append((number, self._passages(path)))
            if sum(len(passages) for _, passages in group) >= _TOGETHER:
                self._make(database, group)
                group = []
        self._make(database, group)

    def _passages(self, path: str) -> list[Passage]:
        try:
            file = read_note_file(self._root, path.split("/"))
            return [] if file is None else passages_of(Note(path, decode_note(file.data)[0]))
        except (ToolError, ValueError, RecursionError):
            # Odd in a way nobody thought of: it has no vectors, and the others get theirs.
            return []

    def _make(self, database: sqlite3.Connection, group: list[tuple[int, list[Passage]]]) -> None:
        if not group:
            return
        texts = [passage.text for _, passages in group for passage in passages]
        vectors = self._embedder.embed(texts)
        made, place = [], 0
        for number, passages in group:
            made.append((number, passages, vectors[place : place + len(passages)]))
            place += len(passages)
        with transaction(database):
            keep_vectors(database, self._embedder.name, made)
