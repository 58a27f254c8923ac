"""Parse notes for the index, and build segments from many of them.

Nothing here writes, so the work can run in another process; `index_writer.py` stores the result in
one short transaction.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import msgspec

from dovetail import ToolError
from dovetail_vault.folders import Entry, Root
from dovetail_vault.note import Note, leaf_of
from dovetail_vault.note_files import NoteFile, decode_note, read_note_file
from dovetail_vault.postings import LEVEL_BITS, encode_postings, level_of, new_postings
from dovetail_vault.words import MAX_WORD_LENGTH, fold, split_words

__all__ = [
    "ParsedNote",
    "SegmentBuilder",
    "SegmentData",
    "note_without_content",
    "parse_note",
    "read_and_parse",
]

_MAX_FRONTMATTER = 65_536
# Longer tags are not listed: each level of a nested tag is counted as a tag of its own.
_MAX_TAG = 200
# Created once: `json.dumps` creates a new encoder for each call with non-default options.
_dump = json.JSONEncoder(ensure_ascii=False).encode


class ParsedNote(NamedTuple):
    """A note in the form that the index stores."""

    row: tuple[Any, ...]
    levels: dict[str, int]
    tags: list[str]
    aliases: list[str]
    # Key of the target, target, kind of link, line.
    links: list[tuple[str, str, str, int]]

    @property
    def path(self) -> str:
        """The note's path."""
        return str(self.row[0])

    @property
    def title(self) -> str:
        """The note's title."""
        return str(self.row[2])

    @property
    def etag(self) -> str:
        """The version that was read; empty if it could not be read."""
        return str(self.row[9])


def read_and_parse(root: Root, path: str, entry: Entry | None = None) -> ParsedNote | None:
    """Read and parse a note; None if it is missing. An unreadable note has only its name."""
    try:
        file = read_note_file(root, path.split("/"))
        return None if file is None else parse_note(path, file)
    except (ToolError, ValueError, RecursionError):
        # Too large, binary, or not parseable: one note must not stop the others.
        if entry is None:
            return None
        return note_without_content(entry, "unreadable")


def note_without_content(entry: Entry, state: str) -> ParsedNote:
    """Return a note of which the index stores only the name, and why: the state."""
    path = entry.path
    row = _row(path, leaf_of(path).title(), 1, entry, "", state, "{}", False)
    return ParsedNote(row, {}, [], [], [])


def parse_note(path: str, file: NoteFile) -> ParsedNote:
    """Parse a note for the index."""
    text, _ = decode_note(file.data)
    note = Note(path, text)
    words = split_words(fold(text))
    counts = Counter(words)
    has_long = max(map(len, counts), default=0) > MAX_WORD_LENGTH
    if has_long:
        counts = Counter(word for word in words if len(word) <= MAX_WORD_LENGTH)
    levels = _levels(counts, len(words), split_words(fold(note.title)))
    dumped = _dump(note.frontmatter) if note.frontmatter else "{}"
    if len(dumped) > _MAX_FRONTMATTER:
        dumped = "{}"
    title, line = note.title_and_line
    entry = Entry(path, file.size, file.mtime_ns, file.inode)
    row = _row(path, title, line, entry, file.etag, "ok", dumped, has_long)
    links: list[tuple[str, str, str, int]] = [
        (_clean(leaf_of(link.target)), _clean(link.target), link.kind, link.line)
        for link in note.links
        if link.target
    ]
    tags = [_clean(tag) for tag in note.tags if len(tag) <= _MAX_TAG]
    return ParsedNote(row, levels, tags, list(map(_clean, note.aliases)), links)


def _levels(counts: Counter[str], length: int, in_title: list[str]) -> dict[str, int]:
    # A note has few distinct counts, so compute the level once per count, not per word.
    by_count = {count: level_of(count, length, False) for count in set(counts.values())}
    levels = dict(zip(counts, map(by_count.__getitem__, counts.values()), strict=True))
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
    """Replace lone surrogates, which SQLite does not accept."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class SegmentData(msgspec.Struct, array_like=True):
    """The content of a segment: notes in order, and a blob for each word."""

    notes: list[ParsedNote]
    words: dict[str, bytes]


class SegmentBuilder:
    """Collects notes and their words for a segment."""

    def __init__(self) -> None:
        self._notes: list[ParsedNote] = []
        self._by_word: defaultdict[str, array[int]] = defaultdict(new_postings)

    def add(self, note: ParsedNote) -> None:
        """Add a note."""
        packed = len(self._notes) << LEVEL_BITS
        by_word = self._by_word
        for word, level in note.levels.items():
            by_word[word].append(packed | level)
        # Drop the words of the note, which would take most of the memory.
        self._notes.append(note._replace(levels={}))

    def build(self) -> SegmentData:
        """Return the segment, with words sorted like the pages of the database."""
        span, by_word = len(self._notes), self._by_word
        words = {word: encode_postings(by_word[word], span) for word in sorted(by_word)}
        return SegmentData(self._notes, words)
