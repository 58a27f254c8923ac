"""Write parsed notes to the index, in short transactions.

Many notes at once become a segment. A few become rows of `fresh`, which readers keep in memory, and
are merged into a segment later. A note that changes gets a new number; the old one is not reused.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from dovetail_vault.database import transaction
from dovetail_vault.parsed_notes import ParsedNote, SegmentData
from dovetail_vault.postings import LEVEL_BITS, LEVELS, encode_postings, new_postings
from dovetail_vault.words import fold

__all__ = ["TERM_BITS", "IndexWriter"]

T = TypeVar("T")

# The key of a posting is the segment number followed by the word number in this many bits, so that
# a new segment is appended to the table instead of touching every page.
TERM_BITS = 32
_MAX_FRESH = 512
# Each segment adds a lookup per word; each unused number adds a bit to every set.
_MAX_SEGMENTS = 200
_MAX_UNUSED = 50_000
_MAX_CHANGES = 5_000
# Keys per statement; one statement per key would take ten times as long.
_QUERY_CHUNK = 500
# Tables whose rows are deleted together with a note.
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
    """Stores and removes notes. Not thread-safe: use one writer per connection."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def store_many(self, segment: SegmentData) -> None:
        """Store many notes as a new segment."""
        if not segment.notes:
            return
        with transaction(self._database):
            dropped = self._delete([note.path for note in segment.notes])
            numbers = self._insert(segment.notes)
            terms = self._term_numbers(segment.words)
            blobs = {terms[word]: blob for word, blob in segment.words.items()}
            self._write_segment(numbers[0], len(segment.notes), blobs)
            self._log_changes([*_drops(dropped), ("bulk", 0, "")])

    def store(self, notes: Sequence[ParsedNote]) -> None:
        """Store a few notes, so that the next search finds them."""
        if not notes:
            return
        with transaction(self._database):
            dropped = self._delete([note.path for note in notes])
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
            # An edit that keeps the title does not change the list of notes.
            added = [
                ("edit" if before.get(note.path) == note.title else "add", number, note.path)
                for number, note in zip(numbers, notes, strict=True)
            ]
            self._log_changes([*_drops(dropped), *added])
            self._merge_fresh()

    def remove(self, paths: Iterable[str]) -> None:
        """Remove deleted notes."""
        with transaction(self._database):
            self._log_changes(_drops(self._delete(list(paths))))

    def reset(self) -> None:
        """Empty the index, and log it so that other processes clear their caches."""
        with transaction(self._database):
            for table in ("notes", "terms", "segments", "postings", "marks", *_OF_A_NOTE):
                self._database.execute(f"DELETE FROM {table}")
            self._database.execute("DELETE FROM sqlite_sequence WHERE name = 'notes'")
            self._log_changes([("wipe", 0, "")])

    def needs_rebuild(self) -> bool:
        """Whether a new index would be much smaller or faster after many changes."""
        run = self._database.execute
        (segments,) = run("SELECT count(*) FROM segments").fetchone()
        (last, notes) = run("SELECT coalesce(max(id), 0), count(*) FROM notes").fetchone()
        return bool(segments > _MAX_SEGMENTS or last > _MAX_UNUSED + 3 * notes)

    def _delete(self, paths: Sequence[str]) -> list[_Dropped]:
        dropped: list[_Dropped] = []
        for part in _parts(paths):
            rows = self._database.execute(
                f"SELECT id, path, title FROM notes WHERE path IN ({_placeholders(part)})", part
            )
            dropped += [_Dropped(*row) for row in rows]
        numbers = [(row.number,) for row in dropped]
        for table in _OF_A_NOTE:
            self._database.executemany(f"DELETE FROM {table} WHERE note = ?", numbers)
        self._database.executemany("DELETE FROM notes WHERE id = ?", numbers)
        return dropped

    def _insert(self, notes: Sequence[ParsedNote]) -> range:
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
        """Return the number of each word; new words get consecutive numbers."""
        run = self._database.execute
        known: dict[str, int] = {}
        # Sorted, so that words on the same database page are read together.
        for part in _parts(sorted(words)):
            known.update(
                run(
                    f"SELECT term, id FROM terms WHERE term IN ({_placeholders(part)})", part
                ).fetchall()
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

    def _log_changes(self, changes: Iterable[tuple[str, int, str]]) -> None:
        self._database.executemany(
            "INSERT INTO changes(kind, note, path) VALUES (?, ?, ?)", changes
        )
        self._database.execute(
            "DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes) - ?", (_MAX_CHANGES,)
        )

    def _merge_fresh(self) -> None:
        """Merge the fresh rows into a segment if there are many."""
        run = self._database.execute
        (count,) = run("SELECT count(*) FROM fresh").fetchone()
        if count <= _MAX_FRESH:
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
        # Numbers in between that are not fresh have no bit in this segment.
        if last - first < 1 << 16:
            span = last - first + 1
            blobs = {term: encode_postings(packed, span) for term, packed in by_term.items()}
            self._write_segment(first, span, blobs)
            run("DELETE FROM fresh")
            self._log_changes([("bulk", 0, "")])


def _drops(rows: Iterable[_Dropped]) -> list[tuple[str, int, str]]:
    return [("drop", row.number, row.path) for row in rows]


def _parts(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    return (keys[start : start + _QUERY_CHUNK] for start in range(0, len(keys), _QUERY_CHUNK))


def _placeholders(keys: Sequence[T]) -> str:
    return ", ".join("?" * len(keys))
