"""Read the index: which notes contain a word, and queries over all notes.

There is one connection with a lock: a query takes about a millisecond, so taking turns costs less
than several copies of the fresh rows. Before each query the reader checks whether any process has
written, and loads the changes.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dovetail_vault.bitsets import Planes, from_numbers
from dovetail_vault.database import connect, transaction
from dovetail_vault.index_writer import TERM_BITS
from dovetail_vault.postings import decode_postings
from dovetail_vault.vocabulary import Vocabulary

__all__ = ["Index", "NoteRow"]

_ROW = "id, path, title, title_line, size, mtime_ns, etag, state, frontmatter"
_CHUNK = 500


class NoteRow(NamedTuple):
    """A note in the index."""

    id: int
    path: str
    title: str
    title_line: int
    size: int
    mtime_ns: int
    etag: str
    state: str
    frontmatter: str


class Index:
    """The index as seen by this process."""

    def __init__(self, path: Path) -> None:
        self._database = connect(path)
        self._lock = threading.RLock()
        self._version: int | None = None
        self._seen = 0
        self._segments: list[tuple[int, int]] = []
        self._fresh: dict[int, dict[int, int]] = {}
        self.vocabulary = Vocabulary()
        # The set of all readable notes, and of those with words too long for the index.
        self.live = 0
        self.doubtful = 0

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Hold one snapshot of the index."""
        with self._lock:
            if self._database.in_transaction:
                yield self._database
                return
            (version,) = self._database.execute("PRAGMA data_version").fetchone()
            with transaction(self._database, "DEFERRED"):
                if version != self._version:
                    self._refresh()
                    self._version = version
                yield self._database

    def changes_since(self, seq: int) -> tuple[int, list[tuple[str, str]], bool]:
        """Return the last change, the (kind, path) of those after `seq`, and if any are missing."""
        with self.reading() as database:
            (last,) = database.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
            rows = database.execute(
                "SELECT seq, kind, path FROM changes WHERE seq > ? ORDER BY seq", (seq,)
            ).fetchall()
        is_gap = bool(rows) and rows[0][0] != seq + 1
        return last, [(kind, path) for _, kind, path in rows], is_gap

    def _refresh(self) -> None:
        run = self._database.execute
        (last,) = run("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
        rows = run("SELECT seq, kind, note FROM changes WHERE seq > ?", (self._seen,)).fetchall()
        is_known = self._version is not None and last >= self._seen
        has_gap = bool(rows) and rows[0][0] != self._seen + 1
        kinds = {kind for _, kind, _ in rows}
        if has_gap or "wipe" in kinds:
            # Numbers of words and notes may have been reassigned.
            self.vocabulary.clear()
            self._fresh.clear()
        if not is_known or has_gap or kinds & {"bulk", "wipe"}:
            self._reload()
        else:
            for _, kind, note in rows:
                if kind == "drop":
                    self.live &= ~(1 << note)
                    self.doubtful &= ~(1 << note)
            added = [note for _, kind, note in rows if kind in ("add", "edit")]
            self._add_notes(added)
        self._seen = last
        known = {note for (note,) in run("SELECT note FROM fresh")}
        self._fresh = {note: levels for note, levels in self._fresh.items() if note in known}
        for note in known - self._fresh.keys():
            (blob,) = run("SELECT levels FROM fresh WHERE note = ?", (note,)).fetchone()
            packed = array("Q")
            packed.frombytes(blob)
            self._fresh[note] = {value >> 3: value & 7 for value in packed}
        self.vocabulary.refresh(self._database)

    def _reload(self) -> None:
        run = self._database.execute
        self.live = from_numbers([n for (n,) in run("SELECT id FROM notes WHERE state = 'ok'")])
        self.doubtful = from_numbers([n for (n,) in run("SELECT id FROM notes WHERE doubtful")])
        self._segments = run("SELECT id, first FROM segments").fetchall()

    def _add_notes(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            row = self._database.execute(
                "SELECT doubtful FROM notes WHERE id = ? AND state = 'ok'", (number,)
            ).fetchone()
            if row is not None:
                self.live |= 1 << number
                self.doubtful |= row[0] << number

    # -- words ----------------------------------------------------------------------------

    def levels_of(self, terms: Sequence[int]) -> Planes:
        """Return the levels of notes with one of these words; call it inside `reading`."""
        planes = [0, 0, 0]
        for count, term in enumerate(terms):
            for segment, first in self._segments:
                row = self._database.execute(
                    "SELECT data FROM postings WHERE id = ?", (segment << TERM_BITS | term,)
                ).fetchone()
                if row is not None:
                    decode_postings(row[0], first, planes)
            # A single letter is in most words: stop as soon as every note matches.
            if count % 64 == 63 and not self.live & ~(planes[0] | planes[1] | planes[2]):
                break
        for note, levels in self._fresh.items():
            level = max((levels.get(term, 0) for term in terms), default=0) if levels else 0
            for power in range(3):
                if level >> power & 1:
                    planes[power] |= 1 << note
        return [plane & self.live for plane in planes]

    # -- notes ----------------------------------------------------------------------------

    def rows(self, numbers: Iterable[int]) -> dict[int, NoteRow]:
        """Return the rows of these notes, by number."""
        wanted = list(numbers)
        found: dict[int, NoteRow] = {}
        with self.reading() as database:
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                for row in database.execute(
                    f"SELECT {_ROW} FROM notes WHERE id IN ({marks})", part
                ):
                    found[row[0]] = NoteRow(*row)
        return found

    def select(self, where: str, values: Sequence[Any] = ()) -> list[NoteRow]:
        """Return notes by an SQL condition, which must never contain client input."""
        with self.reading() as database:
            rows = database.execute(f"SELECT {_ROW} FROM notes {where}", values)
            return [NoteRow(*row) for row in rows]

    def numbers(self, where: str, values: Sequence[Any] = ()) -> int:
        """Return the set of notes by an SQL condition, which must never contain client input."""
        with self.reading() as database:
            rows = database.execute(f"SELECT id FROM notes {where}", values)
            return from_numbers([number for (number,) in rows])

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL statement, which must never contain client input."""
        with self.reading() as database:
            return database.execute(statement, values).fetchall()
