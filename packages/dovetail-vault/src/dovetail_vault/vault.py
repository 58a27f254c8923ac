"""One vault: its folder, its index, and the ways of reading and changing notes.

Every change goes through `change`, which holds the note's lock among our own processes, compares
with what was read, writes whole, and tells the index before the caller gets an answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dovetail import ToolError
from dovetail_serverkit.embedding import Embedder
from dovetail_vault.crawling import Crawler
from dovetail_vault.database import connect, index_folder, open_index
from dovetail_vault.folders import Root
from dovetail_vault.index import Index, NoteRow
from dovetail_vault.indexing import IndexWriter
from dovetail_vault.note import Note, leaf_of
from dovetail_vault.note_files import (
    ChangedError,
    NoteFile,
    decode_note,
    hold_lock,
    is_note_there,
    put_note,
    read_note_file,
    remove_note,
    rename_note,
)
from dovetail_vault.paths import fold_name, note_uri_path, split_note_path
from dovetail_vault.preparing import take_apart
from dovetail_vault.vector_making import VectorMaker
from dovetail_vault.vectors import VectorIndex

__all__ = ["Opened", "Vault"]

logger = logging.getLogger("dovetail")

TRASH = ".trash"
_LOCKS = 256
# How often a change is tried anew because another program was faster.
_ATTEMPTS = 50
_MOST_CANDIDATES = 10

Change = Callable[["Opened | None"], str]


class Opened:
    """A note that was read: the file, its text and encoding."""

    def __init__(self, path: str, file: NoteFile) -> None:
        self.path = path
        self.file = file
        self.text, self.encoding = decode_note(file.data)

    @property
    def note(self) -> Note:
        """The text taken apart."""
        return Note(self.path, self.text)


class Vault:
    """A folder of notes that is being served."""

    def __init__(
        self,
        name: str,
        path: str | os.PathLike[str],
        *,
        index_dir: Path | None = None,
        uri_prefix: str = "obsidian-note:///",
        embedder: Embedder | None = None,
    ) -> None:
        self.name = name
        self.root = Root(path)
        self.uri_prefix = uri_prefix
        self._index_path = open_index(index_dir or index_folder(self.root.path))
        self.index = Index(self._index_path)
        self._writing = connect(self._index_path)
        self._writer = IndexWriter(self._writing)
        self._writer_lock = threading.Lock()
        self._crawler = Crawler(self.root, self._index_path)
        # What compares meanings, where there is a model.
        self.vectors: VectorIndex | None = None
        self._vector_maker: VectorMaker | None = None
        if embedder is not None:
            self.vectors = VectorIndex(self.index, embedder)
            self._vector_maker = VectorMaker(self.root, self._index_path, embedder)
        self._locks = self._index_path.parent / "locks"
        self._locks.mkdir(exist_ok=True)

    def start(self) -> None:
        """Begin to follow the files."""
        self._crawler.start()
        if self._vector_maker is not None:
            self._vector_maker.start()

    def wait_until_complete(self, seconds: float) -> bool:
        """Wait for the first pass over all notes; False where it takes longer."""
        return self._crawler.complete.wait(seconds)

    def stop(self) -> None:
        """Let everything go."""
        if self._vector_maker is not None:
            self._vector_maker.stop()
        self._crawler.stop()
        self.index.close()
        with self._writer_lock:
            self._writing.close()
        self.root.close()

    @property
    def is_complete(self) -> bool:
        """Whether the index has seen all notes."""
        return self._crawler.complete.is_set()

    @property
    def vector_problem(self) -> str | None:
        """Why no more vectors are made, if so."""
        return None if self._vector_maker is None else self._vector_maker.problem

    # -- names ----------------------------------------------------------------------------

    def uri_of(self, path: str) -> str:
        """The URI of a note."""
        return f"{self.uri_prefix}{note_uri_path(path)}"

    @staticmethod
    def date_of(mtime_ns: int) -> str:
        """A time of the file system as date and time."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(mtime_ns / 1e9))

    def resolve(self, text: str) -> tuple[str, ...]:
        """The segments of an existing note, by path or bare name; raises ToolError."""
        parts = split_note_path(text)
        if is_note_there(self.root, parts):
            return parts
        twins = self.root.find_twins(parts)
        if len(twins) == 1:
            return (*parts[:-1], twins[0])
        found = [row.path for row in self.find_by_name("/".join(parts))]
        if len(found) == 1:
            return tuple(found[0].split("/"))
        if found:
            shown = ", ".join(repr(path) for path in found[:_MOST_CANDIDATES])
            raise ToolError(
                f"{text!r} is ambiguous, {len(found)} notes have that name: {shown}. "
                "Give the whole path"
            )
        raise ToolError(f"There is no note {text!r} in the vault{self._suggest(parts[-1])}")

    def find_by_name(self, path: str) -> list[NoteRow]:
        """Notes whose path ends like this one, whatever the case."""
        key = fold_name(path)
        rows = self.index.select("WHERE leaf = ? ORDER BY length(path), path", (leaf_of(path),))
        return [
            row
            for row in rows
            if fold_name(row.path) == key or fold_name(row.path).endswith(f"/{key}")
        ]

    def _suggest(self, name: str) -> str:
        stem = leaf_of(name)[:100]
        rows = self.index.select(
            "WHERE instr(folded_path, ?) OR instr(folded_title, ?) ORDER BY length(path) LIMIT 3",
            (stem, stem),
        )
        return f"; did you mean {' or '.join(repr(row.path) for row in rows)}?" if rows else ""

    # -- reading --------------------------------------------------------------------------

    def open(self, parts: Sequence[str]) -> Opened:
        """A note that must be there."""
        file = read_note_file(self.root, parts)
        if file is None:
            raise ToolError(f"There is no note {'/'.join(parts)!r} in the vault")
        return Opened("/".join(parts), file)

    def text_of(self, path: str) -> str | None:
        """The text of a note the index knows; None where it is gone or unreadable."""
        try:
            file = read_note_file(self.root, path.split("/"))
        except ToolError:
            return None
        return None if file is None else decode_note(file.data)[0]

    # -- changing -------------------------------------------------------------------------

    def change(
        self,
        parts: Sequence[str],
        change: Change,
        *,
        if_match: str | None = None,
        must_exist: bool = True,
    ) -> tuple[Opened | None, Opened]:
        """Read, let `change` make the new text, write; what was there and what is there now.

        Where another program writes in between, the change is made again from what it wrote.
        """
        path = "/".join(parts)
        with self._lock(path):
            for attempt in range(_ATTEMPTS):
                file = read_note_file(self.root, parts)
                before = None if file is None else Opened(path, file)
                self._require(path, before, if_match, must_exist)
                data = encode_text(change(before), before)
                if before is not None and data == before.file.data:
                    return before, before
                try:
                    written = put_note(self.root, parts, data, file)
                except ChangedError:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue
                self._tell_index(path, written)
                return before, Opened(path, written)
        raise AssertionError("unreachable")

    def _require(
        self, path: str, before: Opened | None, if_match: str | None, must_exist: bool
    ) -> None:
        if before is None:
            if must_exist or if_match is not None:
                raise ToolError(f"There is no note {path!r} in the vault")
            twins = self.root.find_twins(path.split("/"))
            if twins:
                raise ToolError(
                    f"{path!r} is refused: {twins[0]!r} is there already and differs only in case "
                    "or Unicode form; on other systems both would be one file"
                )
        elif if_match is not None and if_match != before.file.etag:
            raise ToolError(
                f"{path!r} was changed since it was read: its etag is {before.file.etag}, ifMatch "
                f"is {if_match}. Nothing was written; read it again"
            )

    def trash(self, parts: Sequence[str]) -> str:
        """Move a note to the vault's trash; where it is now."""
        path = "/".join(parts)
        stem = parts[-1].removesuffix(".md")
        with self._lock(path):
            for number in range(1, 1000):
                leaf = parts[-1] if number == 1 else f"{stem} {number}.md"
                target = (TRASH, *parts[:-1], leaf)
                try:
                    rename_note(self.root, parts, target)
                except ChangedError:
                    continue
                self._forget(path)
                return "/".join(target)
        raise ToolError(f"The trash has a thousand notes named {path!r}; empty it first")

    def remove(self, parts: Sequence[str]) -> None:
        """Delete a note for good."""
        path = "/".join(parts)
        with self._lock(path):
            remove_note(self.root, parts)
            self._forget(path)

    def move(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Give a note another path."""
        with self._lock("/".join(source)):
            rename_note(self.root, source, target)
            self._forget("/".join(source))
            self._tell_index("/".join(target), self.open(target).file)

    @contextlib.contextmanager
    def _lock(self, path: str) -> Iterator[None]:
        number = int.from_bytes(hashlib.blake2b(fold_name(path).encode(), digest_size=1).digest())
        with hold_lock(str(self._locks / f"{number % _LOCKS:02x}")):
            yield

    # -- telling the index ----------------------------------------------------------------

    def _tell_index(self, path: str, file: NoteFile) -> None:
        with self._storing(path):
            self._writer.store([take_apart(path, file)])

    def _forget(self, path: str) -> None:
        with self._storing(path):
            self._writer.remove([path])

    @contextlib.contextmanager
    def _storing(self, path: str) -> Iterator[None]:
        # The note itself is safe by now; an index that cannot be written is mended by a sweep.
        try:
            with self._writer_lock:
                yield
        except sqlite3.Error:
            logger.exception("The index could not be told of %s", path)


def encode_text(text: str, before: Opened | None) -> bytes:
    """The bytes of a text; what was no UTF-8 before is written back as it was."""
    if before is not None and before.encoding == "utf-16":
        raise ToolError(f"{before.path!r} is in UTF-16; notes are written in UTF-8 only")
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ToolError("The content is not valid Unicode: it has lone surrogates") from None
    if b"\0" in data:
        raise ToolError("The content has NUL characters; a note is text")
    return data
