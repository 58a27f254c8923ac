"""Writing the index: what was taken apart elsewhere is stored in one short transaction.

Many notes at once become a segment; a few become rows of `fresh`, which the readers keep in
memory, and a segment later. A note that changed gets a new number, and the old one dies.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from dovetail_vault.database import transaction
from dovetail_vault.postings import LEVEL_BITS, LEVELS, encode_postings, new_postings
from dovetail_vault.preparing import Draft, Prepared
from dovetail_vault.words import fold

__all__ = ["TERM_BITS", "IndexWriter"]

T = TypeVar("T")

# A posting's key is the segment's number and, in so many bits, the word's: a new segment is
# written behind all others, and not into every page of the file.
TERM_BITS = 32
_MOST_FRESH = 512
# Each segment is one more look-up per word, each dead number one more bit of every set.
_MOST_SEGMENTS = 200
_MOST_DEAD = 50_000
_MOST_CHANGES = 5_000
# Keys asked for by one statement; each takes a tenth of what a statement of its own would.
_AT_ONCE = 500
# Tables with rows of a note, which go with it.
_OF_A_NOTE = ("aliases", "tags", "links", "fresh", "vectors", "embedded")
_NOTE_COLUMNS = (
    "path, leaf, title, folded_title, title_line, folded_path, size, mtime_ns, inode, etag, state, "
    "frontmatter, doubtful"
)


class _Dropped(NamedTuple):
    number: int
    path: str
    title: str


class IndexWriter:
    """Stores and removes notes; one at a time holds the connection."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def store_many(self, draft: Draft) -> None:
        """A segment of its own for these notes."""
        if not draft.notes:
            return
        with transaction(self._database):
            dropped = self._forget([note.path for note in draft.notes])
            numbers = self._insert(draft.notes)
            terms = self._term_numbers(draft.words)
            blobs = {terms[word]: blob for word, blob in draft.words.items()}
            self._write_segment(numbers[0], len(draft.notes), blobs)
            self._tell([*_drops(dropped), ("bulk", 0, "")])

    def store(self, notes: Sequence[Prepared]) -> None:
        """A few notes, to be found by the next search."""
        if not notes:
            return
        with transaction(self._database):
            dropped = self._forget([note.path for note in notes])
            numbers = self._insert(notes)
            terms = self._term_numbers({word for note in notes for word in note.levels})
            rows = []
            for number, note in zip(numbers, notes, strict=True):
                packed = array(
                    "Q",
                    (terms[word] << LEVEL_BITS | level for word, level in note.levels.items()),
                )
                rows.append((number, packed.tobytes()))
            self._database.executemany("INSERT INTO fresh VALUES (?, ?)", rows)
            before = {row.path: row.title for row in dropped}
            # A note that keeps its title leaves the list of notes as it is.
            added = [
                ("edit" if before.get(note.path) == note.title else "add", number, note.path)
                for number, note in zip(numbers, notes, strict=True)
            ]
            self._tell([*_drops(dropped), *added])
            self._settle()

    def remove(self, paths: Iterable[str]) -> None:
        """Forget notes that are gone."""
        with transaction(self._database):
            self._tell(_drops(self._forget(list(paths))))

    def begin_anew(self) -> None:
        """Empty the index; other processes are told, so that they forget what they know of it."""
        with transaction(self._database):
            for table in ("notes", "terms", "segments", "postings", "marks", *_OF_A_NOTE):
                self._database.execute(f"DELETE FROM {table}")
            self._database.execute("DELETE FROM sqlite_sequence WHERE name = 'notes'")
            self._tell([("wipe", 0, "")])

    def is_worn(self) -> bool:
        """Whether so much has changed that a new index would be much smaller or faster."""
        run = self._database.execute
        (segments,) = run("SELECT count(*) FROM segments").fetchone()
        (last, notes) = run("SELECT coalesce(max(id), 0), count(*) FROM notes").fetchone()
        return bool(segments > _MOST_SEGMENTS or last > _MOST_DEAD + 3 * notes)

    def _forget(self, paths: Sequence[str]) -> list[_Dropped]:
        dropped: list[_Dropped] = []
        for part in _parts(paths):
            rows = self._database.execute(
                f"SELECT id, path, title FROM notes WHERE path IN ({_marks(part)})", part
            )
            dropped += [_Dropped(*row) for row in rows]
        numbers = [(row.number,) for row in dropped]
        for table in _OF_A_NOTE:
            self._database.executemany(f"DELETE FROM {table} WHERE note = ?", numbers)
        self._database.executemany("DELETE FROM notes WHERE id = ?", numbers)
        return dropped

    def _insert(self, notes: Sequence[Prepared]) -> range:
        many = self._database.executemany
        row = self._database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'notes'")
        (last,) = row.fetchone() or (0,)
        numbers = range(last + 1, last + 1 + len(notes))
        numbered = list(zip(numbers, notes, strict=True))
        columns = f"id, {_NOTE_COLUMNS}"
        many(
            f"INSERT INTO notes({columns}) VALUES ({', '.join('?' * 14)})",
            ((number, *note.row) for number, note in numbered),
        )
        many(
            "INSERT INTO tags VALUES (?, ?, ?)",
            ((number, tag, fold(tag)) for number, note in numbered for tag in note.tags),
        )
        many(
            "INSERT INTO aliases VALUES (?, ?, ?)",
            ((number, alias, fold(alias)) for number, note in numbered for alias in note.aliases),
        )
        many(
            "INSERT INTO links VALUES (?, ?, ?, ?, ?)",
            ((number, *link) for number, note in numbered for link in note.links),
        )
        return numbers

    def _term_numbers(self, words: Collection[str]) -> dict[str, int]:
        """The number of each word; new ones get theirs in a row, without gaps."""
        run = self._database.execute
        known: dict[str, int] = {}
        # In order, so that the words of one page of the file are asked for together.
        for part in _parts(sorted(words)):
            known.update(
                run(f"SELECT term, id FROM terms WHERE term IN ({_marks(part)})", part).fetchall()
            )
        (last,) = run("SELECT coalesce(max(id), 0) FROM terms").fetchone()
        missing = (word for word in words if word not in known)
        fresh = {word: last + place for place, word in enumerate(missing, 1)}
        self._database.executemany("INSERT INTO terms(term, id) VALUES (?, ?)", fresh.items())
        return known | fresh

    def _write_segment(self, first: int, span: int, blobs: Mapping[int, bytes]) -> None:
        run = self._database.execute
        segment = run("INSERT INTO segments(first, span) VALUES (?, ?)", (first, span)).lastrowid
        assert segment is not None
        self._database.executemany(
            "INSERT INTO postings VALUES (?, ?)",
            ((segment << TERM_BITS | term, blobs[term]) for term in sorted(blobs)),
        )

    def _tell(self, changes: Iterable[tuple[str, int, str]]) -> None:
        self._database.executemany(
            "INSERT INTO changes(kind, note, path) VALUES (?, ?, ?)", changes
        )
        self._database.execute(
            "DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes) - ?", (_MOST_CHANGES,)
        )

    def _settle(self) -> None:
        """Make a segment of the fresh rows when there are many."""
        run = self._database.execute
        (count,) = run("SELECT count(*) FROM fresh").fetchone()
        if count <= _MOST_FRESH:
            return
        rows = run("SELECT note, levels FROM fresh ORDER BY note").fetchall()
        first, last = rows[0][0], rows[-1][0]
        by_term: defaultdict[int, array[int]] = defaultdict(new_postings)
        for note, levels in rows:
            packed = array("Q")
            packed.frombytes(levels)
            for value in packed:
                term, level = value >> LEVEL_BITS, value & LEVELS
                by_term[term].append((note - first) << LEVEL_BITS | level)
        # Numbers between the first and the last that are not fresh have no bit here.
        if last - first < 1 << 16:
            span = last - first + 1
            blobs = {term: encode_postings(packed, span) for term, packed in by_term.items()}
            self._write_segment(first, span, blobs)
            run("DELETE FROM fresh")
            self._tell([("bulk", 0, "")])


def _drops(rows: Iterable[_Dropped]) -> list[tuple[str, int, str]]:
    return [("drop", row.number, row.path) for row in rows]


def _parts(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _marks(keys: Sequence[T]) -> str:
    return ", ".join("?" * len(keys))
