"""Notes taken apart for the index, and many of them gathered for a segment.

Nothing here writes: the work can be done in another process, and what comes of it is stored in one
short transaction (`indexing.py`).
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
from dovetail_vault.paths import fold_name
from dovetail_vault.postings import LEVEL_BITS, encode_postings, level_of, new_postings
from dovetail_vault.words import LONGEST_WORD, fold, split_words

__all__ = ["Batch", "Draft", "Prepared", "prepare", "take_apart"]

_LONGEST_FRONTMATTER = 65_536
# Made once: `json.dumps` makes a new one for each call that wants anything but its defaults.
_dump = json.JSONEncoder(ensure_ascii=False).encode


class Prepared(NamedTuple):
    """A note as the index will know it."""

    row: tuple[Any, ...]
    levels: dict[str, int]
    tags: list[str]
    aliases: list[str]
    # The key of the target, the target itself, the kind of link, the line.
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
    dumped = _dump(note.frontmatter) if note.frontmatter else "{}"
    if len(dumped) > _LONGEST_FRONTMATTER:
        dumped = "{}"
    title, line = note.title_and_line
    entry = Entry(path, file.size, file.mtime_ns, file.inode)
    row = _row(path, title, line, entry, file.etag, "ok", dumped, has_long)
    links: list[tuple[str, str, str, int]] = [
        (_clean(leaf_of(link.target)), _clean(fold_name(link.target)), link.kind, link.line)
        for link in note.links
        if link.target
    ]
    tags, aliases = map(_clean, note.tags), map(_clean, note.aliases)
    return Prepared(row, levels, list(tags), list(aliases), links)


def _levels(counts: Counter[str], length: int, in_title: list[str]) -> dict[str, int]:
    # A note has few different counts: one level for each is worked out, not one for each word.
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
    """SQLite takes no lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Draft(msgspec.Struct, array_like=True):
    """A segment to be: notes in order, and for each word its blob."""

    notes: list[Prepared]
    words: dict[str, bytes]


class Batch:
    """Notes on their way into a segment; what they have of each word is gathered as they come."""

    def __init__(self) -> None:
        self._notes: list[Prepared] = []
        self._by_word: defaultdict[str, array[int]] = defaultdict(new_postings)

    def add(self, note: Prepared) -> None:
        """One more note."""
        packed = len(self._notes) << LEVEL_BITS
        by_word = self._by_word
        for word, level in note.levels.items():
            by_word[word].append(packed | level)
        # The words of thousands of notes would be most of the memory this takes.
        self._notes.append(note._replace(levels={}))

    def draft(self) -> Draft:
        """What has been gathered, in the words' order, which is that of the database's pages."""
        span, by_word = len(self._notes), self._by_word
        words = {word: encode_postings(by_word[word], span) for word in sorted(by_word)}
        return Draft(self._notes, words)
