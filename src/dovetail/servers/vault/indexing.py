"""Writing the index: notes are read and taken apart first, then stored in one short transaction.

Many notes at once become a segment; a few become rows of `fresh`, which the readers keep in
memory, and a segment later. A note that changed gets a new number, and the old one dies.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dovetail import ToolError
from dovetail.servers.vault.database import transaction
from dovetail.servers.vault.folders import Entry, Root
from dovetail.servers.vault.note import Note, leaf_of
from dovetail.servers.vault.note_files import NoteFile, decode_note, read_note_file
from dovetail.servers.vault.paths import fold_name
from dovetail.servers.vault.postings import (
    LEVEL_BITS,
    LEVELS,
    encode_postings,
    level_of,
    new_postings,
)
from dovetail.servers.vault.words import LONGEST_WORD, fold, split_words

__all__ = ["TERM_BITS", "Batch", "IndexWriter", "Prepared", "prepare", "take_apart"]

# A posting's key is the segment's number and, in so many bits, the word's: a new segment is
# written behind all others, and not into every page of the file.
TERM_BITS = 32
_MOST_FRESH = 512
# Each segment is one more look-up per word, each dead number one more bit of every set.
_MOST_SEGMENTS = 200
_MOST_DEAD = 50_000
_MOST_CHANGES = 5_000
_LONGEST_FRONTMATTER = 65_536
_NOTE_COLUMNS = (
    "path, leaf, title, folded_title, title_line, folded_path, size, mtime_ns, inode, etag, state, "
    "frontmatter, doubtful"
)


class Prepared(NamedTuple):
    """A note as the index will know it."""

    row: tuple[Any, ...]
    levels: dict[str, int]
    tags: list[str]
    aliases: list[str]
    links: Sequence[tuple[str, str, str, int]]

    @property
    def path(self) -> str:
        """The note's path."""
        return str(self.row[0])

    @property
    def etag(self) -> str:
        """The version that was read; empty where it could not be."""
        return str(self.row[9])


def prepare(root: Root, path: str, entry: Entry | None = None) -> Prepared | None:
    """Read a note; None where it is gone. What cannot be read is known by name alone."""
    try:
        file = read_note_file(root, path.split("/"))
        return None if file is None else take_apart(path, file)
    except (ToolError, ValueError, RecursionError):
        # Too large, binary, or odd in a way nobody thought of: one note must not stop the rest.
        if entry is None:
            return None
        row = _row(path, leaf_of(path).title(), 1, entry, "", "unreadable", "{}", False)
        return Prepared(row, {}, [], [], [])


def take_apart(path: str, file: NoteFile) -> Prepared:
    """Everything the index wants to know of a note."""
    text, _ = decode_note(file.data)
    note = Note(path, text)
    words = split_words(fold(text))
    counts = Counter(words)
    has_long = max(map(len, counts), default=0) > LONGEST_WORD
    if has_long:
        counts = Counter(word for word in words if len(word) <= LONGEST_WORD)
    levels = _levels(counts, len(words), split_words(fold(note.title)))
    dumped = json.dumps(note.frontmatter, ensure_ascii=False) if note.frontmatter else "{}"
    if len(dumped) > _LONGEST_FRONTMATTER:
        dumped = "{}"
    title, line = note.title_and_line
    entry = Entry(path, file.size, file.mtime_ns, file.inode)
    row = _row(path, title, line, entry, file.etag, "ok", dumped, has_long)
    links = [
        (_clean(leaf_of(link.target)), _clean(fold_name(link.target)), link.kind, link.line)
        for link in note.links
        if link.target
    ]
    tags, aliases = map(_clean, note.tags), map(_clean, note.aliases)
    return Prepared(row, levels, list(tags), list(aliases), links)


def _levels(counts: Counter[str], length: int, in_title: list[str]) -> dict[str, int]:
    # Most words stand once in a note: give all that level first, then look at the others.
    levels = dict.fromkeys(counts, level_of(1, length, False))
    for word, count in counts.items():
        if count > 1:
            levels[word] = level_of(count, length, False)
    for word in in_title:
        if word in levels:
            levels[word] = level_of(counts[word], length, True)
    return levels


def _row(
    path: str,
    title: str,
    line: int,
    entry: Entry,
    etag: str,
    state: str,
    frontmatter: str,
    doubtful: bool,
) -> tuple[Any, ...]:
    title = _clean(title)[:1000]
    values = (entry.size, entry.mtime_ns, entry.inode, etag, state, _clean(frontmatter), doubtful)
    return (path, leaf_of(path), title, fold(title), line, fold(path), *values)


def _clean(text: str) -> str:
    """SQLite takes no lone surrogates."""
    return text.encode("utf-8", "replace").decode()


class Batch:
    """Notes on their way into a segment; what they have of each word is gathered as they come."""

    def __init__(self, base: int = 0) -> None:
        # The place of its first note in the segment, where it is a part of a larger batch.
        self._base = base
        self.notes: list[Prepared] = []
        self.by_word: defaultdict[str, array[int]] = defaultdict(new_postings)

    def add(self, note: Prepared) -> None:
        """One more note."""
        packed = self._base + len(self.notes) << LEVEL_BITS
        by_word = self.by_word
        for word, level in note.levels.items():
            by_word[word].append(packed | level)
        # The words of thousands of notes would be most of the memory this takes.
        self.notes.append(note._replace(levels={}))

    def extend(self, notes: Iterable[Prepared], words: Mapping[str, bytes]) -> None:
        """Notes that another process has gathered, packed for their place here."""
        self.notes.extend(notes)
        by_word = self.by_word
        for word, packed in words.items():
            by_word[word].frombytes(packed)


class IndexWriter:
    """Stores and removes notes; one at a time holds the connection."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def store_many(self, batch: Batch) -> None:
        """A segment of its own for these notes."""
        notes, by_word = batch.notes, batch.by_word
        if not notes:
            return
        with transaction(self._database):
            self._forget(note.path for note in notes)
            numbers = self._insert(notes)
            terms = self._term_numbers(by_word)
            self._write_segment(
                numbers[0], len(notes), {terms[word]: packed for word, packed in by_word.items()}
            )
            self._tell([("bulk", 0, "")])

    def store(self, notes: Sequence[Prepared]) -> None:
        """A few notes, to be found by the next search."""
        if not notes:
            return
        with transaction(self._database):
            dropped = self._forget(note.path for note in notes)
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
            added = [("add", n, note.path) for n, note in zip(numbers, notes, strict=True)]
            self._tell([*dropped, *added])
            self._settle()

    def remove(self, paths: Iterable[str]) -> None:
        """Forget notes that are gone."""
        with transaction(self._database):
            self._tell(self._forget(paths))

    def begin_anew(self) -> None:
        """Empty the index; other processes are told, so that they forget what they know of it."""
        with transaction(self._database):
            for table in ("notes", "aliases", "tags", "links", "terms", "segments", "postings"):
                self._database.execute(f"DELETE FROM {table}")
            self._database.execute("DELETE FROM fresh")
            self._database.execute("DELETE FROM sqlite_sequence WHERE name = 'notes'")
            self._tell([("wipe", 0, "")])

    def is_worn(self) -> bool:
        """Whether so much has changed that a new index would be much smaller or faster."""
        run = self._database.execute
        (segments,) = run("SELECT count(*) FROM segments").fetchone()
        (last, notes) = run("SELECT coalesce(max(id), 0), count(*) FROM notes").fetchone()
        return bool(segments > _MOST_SEGMENTS or last > _MOST_DEAD + 3 * notes)

    def _forget(self, paths: Iterable[str]) -> list[tuple[str, int, str]]:
        dropped = []
        for path in paths:
            row = self._database.execute("SELECT id FROM notes WHERE path = ?", (path,)).fetchone()
            if row is None:
                continue
            for table in ("aliases", "tags", "links", "fresh"):
                self._database.execute(f"DELETE FROM {table} WHERE note = ?", row)
            self._database.execute("DELETE FROM notes WHERE id = ?", row)
            dropped.append(("drop", row[0], path))
        return dropped

    def _insert(self, notes: Sequence[Prepared]) -> list[int]:
        run = self._database.execute
        numbers: list[int] = []
        marks = ", ".join("?" * 13)
        for note in notes:
            number = run(f"INSERT INTO notes({_NOTE_COLUMNS}) VALUES ({marks})", note.row).lastrowid
            assert number is not None
            numbers.append(number)
            for tag in note.tags:
                run("INSERT INTO tags VALUES (?, ?, ?)", (number, tag, fold(tag)))
            for alias in note.aliases:
                run("INSERT INTO aliases VALUES (?, ?, ?)", (number, alias, fold(alias)))
            for leaf, target, kind, line in note.links:
                run("INSERT INTO links VALUES (?, ?, ?, ?, ?)", (number, leaf, target, kind, line))
        return numbers

    def _term_numbers(self, words: Iterable[str]) -> dict[str, int]:
        """The number of each word; new ones get theirs in a row, without gaps."""
        run = self._database.execute
        known: dict[str, int] = {}
        missing = []
        # In order, so that the words of one page of the file are asked for together.
        for word in sorted(words):
            row = run("SELECT id FROM terms WHERE term = ?", (word,)).fetchone()
            if row is None:
                missing.append(word)
            else:
                known[word] = row[0]
        (last,) = run("SELECT coalesce(max(id), 0) FROM terms").fetchone()
        fresh = {word: last + place for place, word in enumerate(missing, 1)}
        self._database.executemany("INSERT INTO terms(term, id) VALUES (?, ?)", fresh.items())
        return known | fresh

    def _write_segment(self, first: int, span: int, by_term: Mapping[int, array[int]]) -> None:
        run = self._database.execute
        segment = run("INSERT INTO segments(first, span) VALUES (?, ?)", (first, span)).lastrowid
        assert segment is not None
        self._database.executemany(
            "INSERT INTO postings VALUES (?, ?)",
            (
                (segment << TERM_BITS | term, encode_postings(by_term[term], span))
                for term in sorted(by_term)
            ),
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
            self._write_segment(first, last - first + 1, by_term)
            run("DELETE FROM fresh")
            self._tell([("bulk", 0, "")])
