"""The vectors of a vault's passages: stored in the index by model, compared in memory.

Every vector is compared with the query's, so that none is missed. In memory they are one byte a
number; in the file two. Keys are those of the file and looked up before they are believed, so a
note that changed, or an index that was made anew, needs no word about it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from dovetail_serverkit.embedding import Embedder, Vectors
from dovetail_vault.index import Index
from dovetail_vault.passages import Passage

if TYPE_CHECKING:
    from dovetail_serverkit.embedding.nearest import Nearest

__all__ = ["Likeness", "VectorIndex", "find_unembedded", "keep_vectors"]

# In memory, 384 bytes each with the model that comes along; and notes that get vectors at all.
_MOST = 300_000
_MOST_NOTES = 150_000
_LOADED_AT_ONCE = 5_000
_AT_ONCE = 500
# One byte a number: a likeness is off by less.
_ROUNDED = 0.005


class Likeness(NamedTuple):
    """A note, how like the query its best passage is, and the line where that begins."""

    note: int
    similarity: float
    line: int


def find_unembedded(database: sqlite3.Connection, model: str, most: int) -> list[tuple[int, str]]:
    """Number and path of notes without vectors, those changed last first."""
    counted = database.execute("SELECT count(*) FROM embedded WHERE model = ?", (model,))
    (room,) = (_MOST_NOTES - count for (count,) in counted)
    return database.execute(
        "SELECT id, path FROM notes WHERE state = 'ok' AND NOT EXISTS"
        " (SELECT 1 FROM embedded WHERE note = notes.id AND model = ?)"
        " ORDER BY mtime_ns DESC LIMIT ?",
        (model, max(0, min(room, most))),
    ).fetchall()


def keep_vectors(
    database: sqlite3.Connection,
    model: str,
    made: Sequence[tuple[int, Sequence[Passage], Vectors]],
) -> None:
    """Store what was made of notes, if they are still what they were; inside a transaction."""
    for note, passages, vectors in made:
        # A number belongs to one version of a note.
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
    """One process's view of the vectors of one model."""

    def __init__(self, index: Index, embedder: Embedder) -> None:
        self._index = index
        self.embedder = embedder
        self._nearest: Nearest | None = None
        self._loaded = 0

    def coverage(self) -> tuple[int, int]:
        """Notes that have vectors, and all that could."""
        [(done,)] = self._index.query(
            "SELECT count(*) FROM embedded WHERE model = ?", (self.embedder.name,)
        )
        return min(done, self._index.live.bit_count()), self._index.live.bit_count()

    def find(self, vector: Vectors, is_allowed: Callable[[int], bool], most: int) -> list[Likeness]:
        """Notes with a passage that is like this vector, the most alike first."""
        least = self.embedder.min_similarity
        found: dict[int, Likeness] = {}
        with self._index.reading() as database:
            nearest = self._load(database)
            gone: list[int] = []
            for portion in nearest.ranked(vector):
                there = self._places(database, [key for key, _ in portion])
                for key, similarity in portion:
                    if key not in there:
                        gone.append(key)
                        continue
                    note, line = there[key]
                    if similarity >= least and note not in found and is_allowed(note):
                        found[note] = Likeness(note, min(1.0, similarity), line)
                if len(found) >= most or portion[-1][1] < least - _ROUNDED:
                    break
            if gone:
                nearest.drop(gone)
        return list(found.values())[:most]

    def _load(self, database: sqlite3.Connection) -> Nearest:
        from dovetail_serverkit.embedding.nearest import Nearest  # noqa: PLC0415 - slow to load
        from dovetail_serverkit.embedding.numeric import np  # noqa: PLC0415

        if self._nearest is None:
            self._nearest = Nearest(self.embedder.dimensions)
        while len(self._nearest) < _MOST:
            rows = database.execute(
                "SELECT id, vector FROM vectors WHERE model = ? AND id > ? ORDER BY id LIMIT ?",
                (self.embedder.name, self._loaded, _LOADED_AT_ONCE),
            ).fetchall()
            if rows:
                data = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f2")
                table = data.reshape(len(rows), self.embedder.dimensions).astype(np.float32)
                self._nearest.add([number for number, _ in rows], table)
                self._loaded = rows[-1][0]
            if len(rows) < _LOADED_AT_ONCE:
                break
        return self._nearest

    def _places(
        self, database: sqlite3.Connection, keys: Sequence[int]
    ) -> dict[int, tuple[int, int]]:
        there: dict[int, tuple[int, int]] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for key, note, line in database.execute(
                f"SELECT id, note, line FROM vectors WHERE id IN ({marks})", part
            ):
                there[key] = (note, line)
        return there
