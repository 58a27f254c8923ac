"""One vault: its folder and index, and the operations that read and change notes.

Every edit goes through `change`: it locks the note against other server processes, checks that the
note is what was read, writes atomically, and updates the index before it returns.
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
from dovetail_vault.crawler import Crawler
from dovetail_vault.database import connect, index_folder, open_index
from dovetail_vault.folders import MissingFolderError, Root
from dovetail_vault.index import Index, NoteRow
from dovetail_vault.index_writer import IndexWriter
from dovetail_vault.note import Note, leaf_of
from dovetail_vault.note_files import (
    ChangedError,
    NoteFile,
    decode_note,
    hold_lock,
    note_exists,
    read_note_file,
    remove_note,
    rename_note,
    write_note_file,
)
from dovetail_vault.parsed_notes import parse_note
from dovetail_vault.paths import (
    check_new_names,
    fold_name,
    note_uri_path,
    split_folder_path,
    split_note_path,
)
from dovetail_vault.titles import did_you_mean, nearest_names
from dovetail_vault.vector_worker import VectorWorker
from dovetail_vault.vectors import VectorIndex

__all__ = ["OpenedNote", "Vault"]

logger = logging.getLogger("dovetail")

TRASH = ".trash"
_LOCKS = 256
# How often a change is retried because another program changed the note meanwhile.
_ATTEMPTS = 50
_MAX_CANDIDATES = 10

Change = Callable[["OpenedNote | None"], str]


class OpenedNote:
    """A note that was read: its file, text and encoding."""

    def __init__(self, path: str, file: NoteFile) -> None:
        self.path = path
        self.file = file
        self.text, self.encoding = decode_note(file.data)

    @property
    def note(self) -> Note:
        """The parsed text."""
        return Note(self.path, self.text)


class Vault:
    """A folder of notes with its index."""

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
        # None if there is no embedding model.
        self.vectors: VectorIndex | None = None
        self._vector_worker: VectorWorker | None = None
        if embedder is not None:
            self.vectors = VectorIndex(self.index, embedder)
            self._vector_worker = VectorWorker(self.root, self._index_path, embedder)
        self._locks = self._index_path.parent / "locks"
        self._locks.mkdir(exist_ok=True, mode=0o700)

    def start(self) -> None:
        """Start the threads that keep the index up to date."""
        self._crawler.start()
        if self._vector_worker is not None:
            self._vector_worker.start()

    def wait_until_complete(self, seconds: float) -> bool:
        """Wait for the first pass over all notes; return False if it takes longer."""
        return self._crawler.complete.wait(seconds)

    def stop(self) -> None:
        """Stop the threads and close all files."""
        if self._vector_worker is not None:
            self._vector_worker.stop()
        self._crawler.stop()
        self.index.close()
        with self._writer_lock:
            self._writing.close()
        self.root.close()

    @property
    def is_complete(self) -> bool:
        """Whether the index contains all notes."""
        return self._crawler.complete.is_set()

    @property
    def vector_problem(self) -> str | None:
        """Why the computation of vectors stopped, if it did."""
        return None if self._vector_worker is None else self._vector_worker.problem

    # -- names ----------------------------------------------------------------------------

    def uri_of(self, path: str) -> str:
        """Return the URI of a note."""
        return f"{self.uri_prefix}{note_uri_path(path)}"

    @staticmethod
    def date_of(mtime_ns: int) -> str:
        """Return a file time as ISO 8601."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(mtime_ns / 1e9))

    def resolve(self, text: str) -> tuple[str, ...]:
        """Return the path segments of a note, by path or name. Raises ToolError if not found."""
        parts = split_note_path(text)
        if note_exists(self.root, parts):
            return parts
        variants = self.root.find_name_variants(parts)
        if len(variants) == 1:
            return (*parts[:-1], variants[0])
        found = [row.path for row in self.find_by_name("/".join(parts))]
        if len(found) == 1:
            return tuple(found[0].split("/"))
        if found:
            shown = ", ".join(repr(path) for path in found[:_MAX_CANDIDATES])
            raise ToolError(
                f"{text!r} is ambiguous, {len(found)} notes have that name: {shown}. "
                "Pass the full path"
            )
        raise ToolError(f"There is no note {text!r} in the vault{self._suggest(parts[-1])}")

    def folder_bounds(self, text: str | None) -> tuple[str, str]:
        """Return the bounds of paths below a folder: first inclusive, second exclusive.

        Raises ToolError with similar names if there is no such folder.
        """
        parts = split_folder_path(text or "")
        if not parts:
            return "", "\U0010ffff"
        folder = "/".join(parts)
        try:
            with self.root.folder(parts):
                pass
        except MissingFolderError:
            known = self.folder_names()
            names = nearest_names(folder, known) or nearest_names(parts[-1], known)
            raise ToolError(
                f"There is no folder {folder!r} in the vault{did_you_mean(names)}"
            ) from None
        return f"{folder}/", f"{folder}0"

    def folder_names(self) -> set[str]:
        """Return all folders with notes."""
        folders = set()
        for (path,) in self.index.query("SELECT path FROM notes"):
            parts = path.split("/")[:-1]
            folders |= {"/".join(parts[:end]) for end in range(1, len(parts) + 1)}
        return folders

    def find_by_name(self, path: str) -> list[NoteRow]:
        """Return notes whose path ends with this one, ignoring case."""
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
        if rows:
            return did_you_mean(row.path for row in rows)
        paths = dict(self.index.query("SELECT leaf, path FROM notes"))
        paths |= dict(
            self.index.query(
                "SELECT alias, path FROM aliases JOIN notes ON notes.id = aliases.note"
            )
        )
        return did_you_mean(dict.fromkeys(paths[name] for name in nearest_names(stem, paths)))

    # -- reading --------------------------------------------------------------------------

    def open(self, parts: Sequence[str]) -> OpenedNote:
        """Read a note. Raises ToolError if it does not exist."""
        file = read_note_file(self.root, parts)
        if file is None:
            raise ToolError(f"There is no note {'/'.join(parts)!r} in the vault")
        self._require_parseable("/".join(parts), file)
        return OpenedNote("/".join(parts), file)

    def _require_parseable(self, path: str, file: NoteFile) -> None:
        """Raise ToolError for a version of a note that crashed a worker process."""
        rows = self.index.select("WHERE path = ? AND state = 'crashed'", (path,))
        if any((row.size, row.mtime_ns) == (file.size, file.mtime_ns) for row in rows):
            raise ToolError(f"{path!r} cannot be read: parsing it crashed a process")

    def text_of(self, path: str) -> str | None:
        """Return the text of an indexed note, or None if it is missing or unreadable."""
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
    ) -> tuple[OpenedNote | None, OpenedNote]:
        """Read a note, compute its new text with `change`, write it; return both versions.

        If another program writes in between, `change` is called again with the new text.
        """
        path = "/".join(parts)
        with self._lock(path):
            for attempt in range(_ATTEMPTS):
                file = read_note_file(self.root, parts)
                before = None if file is None else OpenedNote(path, file)
                if file is not None and must_exist:
                    self._require_parseable(path, file)
                self._require(path, before, if_match, must_exist)
                data = encode_text(change(before), before)
                if before is not None and data == before.file.data:
                    return before, before
                try:
                    written = write_note_file(self.root, parts, data, file)
                except ChangedError:
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue
                self._update_index(path, written)
                return before, OpenedNote(path, written)
        raise AssertionError("unreachable")

    def _require(
        self, path: str, before: OpenedNote | None, if_match: str | None, must_exist: bool
    ) -> None:
        if before is None:
            if must_exist or if_match is not None:
                raise ToolError(f"There is no note {path!r} in the vault")
            parts = tuple(path.split("/"))
            self.check_new_path(parts)
        elif if_match is not None and if_match != before.file.etag:
            raise ToolError(
                f"{path!r} was changed since it was read: its etag is {before.file.etag}, ifMatch "
                f"is {if_match}. Nothing was written; read the note again"
            )

    def check_new_path(self, parts: Sequence[str], replaced: str | None = None) -> None:
        """Raise ToolError if a name to be created is not allowed on every system.

        `replaced` is the path of a note that is moved, which may differ only in case.
        """
        has_folder = True
        try:
            with self.root.folder(parts[:-1]):
                pass
        except ToolError:
            has_folder = False
        check_new_names(parts[-1:] if has_folder else parts, "/".join(parts))
        conflict = self.root.find_conflict(parts)
        if conflict is not None and conflict != replaced:
            raise ToolError(
                f"Cannot create {'/'.join(parts)!r}: {conflict!r} already exists and differs only "
                "in case or Unicode form; on some systems both would be the same"
            )

    def trash(self, parts: Sequence[str]) -> str:
        """Move a note to the vault's trash; return its new path."""
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
                self._remove_from_index(path)
                return "/".join(target)
        raise ToolError(f"The trash contains 1,000 notes named {path!r}; empty it first")

    def remove(self, parts: Sequence[str]) -> None:
        """Delete a note permanently."""
        path = "/".join(parts)
        with self._lock(path):
            remove_note(self.root, parts)
            self._remove_from_index(path)

    def move(self, source: Sequence[str], target: Sequence[str]) -> None:
        """Move a note to another path."""
        with self._lock("/".join(source)):
            rename_note(self.root, source, target)
            self._remove_from_index("/".join(source))
            self._update_index("/".join(target), self.open(target).file)

    @contextlib.contextmanager
    def _lock(self, path: str) -> Iterator[None]:
        number = int.from_bytes(hashlib.blake2b(fold_name(path).encode(), digest_size=1).digest())
        with hold_lock(str(self._locks / f"{number % _LOCKS:02x}")):
            yield

    # -- updating the index ---------------------------------------------------------------

    def _update_index(self, path: str, file: NoteFile) -> None:
        with self._index_writer(path):
            self._writer.store([parse_note(path, file)])

    def _remove_from_index(self, path: str) -> None:
        with self._index_writer(path):
            self._writer.remove([path])

    @contextlib.contextmanager
    def _index_writer(self, path: str) -> Iterator[None]:
        # The note itself is already written; the next sweep corrects the index.
        try:
            with self._writer_lock:
                yield
        except sqlite3.Error:
            logger.exception("Could not update the index for %s", path)


def encode_text(text: str, before: OpenedNote | None) -> bytes:
    """Encode a text; bytes that were not valid UTF-8 are written back unchanged."""
    if before is not None and before.encoding == "utf-16":
        raise ToolError(f"{before.path!r} is encoded in UTF-16; only UTF-8 notes can be changed")
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ToolError("The content is not valid Unicode: it contains lone surrogates") from None
    if b"\0" in data:
        raise ToolError("The content contains NUL characters; notes must be text")
    return data
