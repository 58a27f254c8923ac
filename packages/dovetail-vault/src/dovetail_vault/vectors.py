"""The vectors of a vault's passages: stored in the index by model, compared in memory.

The query is compared with every vector. In memory a vector takes one byte per number, in the file
two. Keys of vectors are looked up in the database before results are returned, so changed notes and
a reset of the index need no notification.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dovetail_serverkit.embedding import Embedder, Vectors
from dovetail_vault.index import Index
from dovetail_vault.passages import Passage

if TYPE_CHECKING:
    from dovetail_serverkit.embedding.nearest_neighbors import NearestNeighbors

__all__ = ["SimilarNote", "VectorIndex", "find_unembedded", "save_vectors"]

# Vectors in memory, 384 bytes each with the built-in model; and notes that are embedded.
_MAX_VECTORS = 300_000
_MAX_NOTES = 150_000
_LOAD_CHUNK = 5_000
_QUERY_CHUNK = 500
# Upper bound of the error of a similarity computed from one-byte numbers.
_ROUNDING_ERROR = 0.005


class SimilarNote(NamedTuple):
    """A note, the similarity of its best passage, and the line where that passage starts."""

    note: int
    similarity: float
    line: int


def find_unembedded(database: sqlite3.Connection, model: str, most: int) -> list[tuple[int, str]]:
    """Return number and path of notes without vectors, the last modified first."""
    counted = database.execute("SELECT count(*) FROM embedded WHERE model = ?", (model,))
    (room,) = (_MAX_NOTES - count for (count,) in counted)
    return database.execute(
        "SELECT id, path FROM notes WHERE state = 'ok' AND NOT EXISTS"
        " (SELECT 1 FROM embedded WHERE note = notes.id AND model = ?)"
        " ORDER BY mtime_ns DESC LIMIT ?",
        (model, max(0, min(room, most))),
    ).fetchall()


def save_vectors(
    database: sqlite3.Connection,
    model: str,
    embedded: Sequence[tuple[int, Sequence[Passage], Vectors]],
) -> None:
    """Store the vectors of notes that have not changed; call it inside a transaction."""
    for note, passages, vectors in embedded:
        # A note that changed has a new number.
        if database.execute("SELECT 1 FROM notes WHERE id = ?", (note,)).fetchone() is None:
            continue
        database.execute("INSERT OR IGNORE INTO embedded VALUES (?, ?)", (note, model))
        database.executemany(
            "INSERT INTO vectors(model, note, line, vector) VALUES (?, ?, ?, ?)",
            (
                (model, note, passage.line, vector.astype("<f2").tobytes())
                for passage, vector in zip(passages, vectors, strict=True)
            ),
        )


class VectorIndex:
    """The vectors of one model, loaded into this process."""

    def __init__(self, index: Index, embedder: Embedder) -> None:
        self._index = index
        self.embedder = embedder
        self._nearest: NearestNeighbors | None = None
        self._loaded = 0

    def missing(self) -> int:
        """Return the set of notes without vectors."""
        return self._index.numbers(
            "WHERE state = 'ok' AND NOT EXISTS"
            " (SELECT 1 FROM embedded WHERE note = notes.id AND model = ?)",
            (self.embedder.name,),
        )

    def find(
        self, vector: Vectors, is_allowed: Callable[[int], bool], most: int
    ) -> list[SimilarNote]:
        """Return the notes with the most similar passages."""
        least = self.embedder.min_similarity
        found: dict[int, SimilarNote] = {}
        with self._index.reading() as database:
            nearest = self._load(database)
            deleted: list[int] = []
            for batch in nearest.ranked(vector):
                stored = self._look_up(database, [key for key, _ in batch])
                for key, similarity in batch:
                    if key not in stored:
                        deleted.append(key)
                        continue
                    note, line = stored[key]
                    if similarity >= least and note not in found and is_allowed(note):
                        found[note] = SimilarNote(note, min(1.0, similarity), line)
                if len(found) >= most or batch[-1][1] < least - _ROUNDING_ERROR:
                    break
            if deleted:
                nearest.drop(deleted)
        return list(found.values())[:most]

    def _load(self, database: sqlite3.Connection) -> NearestNeighbors:
        from dovetail_serverkit.embedding.nearest_neighbors import (  # noqa: PLC0415 - slow to load
            NearestNeighbors,
        )
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415

        if self._nearest is None:
            self._nearest = NearestNeighbors(self.embedder.dimensions)
        while len(self._nearest) < _MAX_VECTORS:
            rows = database.execute(
                "SELECT id, vector FROM vectors WHERE model = ? AND id > ? ORDER BY id LIMIT ?",
                (self.embedder.name, self._loaded, _LOAD_CHUNK),
            ).fetchall()
            if rows:
                data = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2")
                table = data.reshape(len(rows), self.embedder.dimensions).astype(np.float32)
                self._nearest.add([number for number, _ in rows], table)
                self._loaded = rows[-1][0]
            if len(rows) < _LOAD_CHUNK:
                break
        return self._nearest

    def _look_up(
        self, database: sqlite3.Connection, keys: Sequence[int]
    ) -> dict[int, tuple[int, int]]:
        found: dict[int, tuple[int, int]] = {}
        for start in range(0, len(keys), _QUERY_CHUNK):
            part = keys[start : start + _QUERY_CHUNK]
            marks = ",".join("?" * len(part))
            for key, note, line in database.execute(
                f"SELECT id, note, line FROM vectors WHERE id IN ({marks})", part
            ):
                found[key] = (note, line)
        return found
