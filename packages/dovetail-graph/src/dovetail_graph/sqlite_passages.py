"""The vectors of one model, kept beside what they were made from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from dovetail_graph.storage import Place, StoredPassage, Unembedded

__all__ = ["SqlitePassages", "drop_all_passages", "drop_other_passages"]


class SqlitePassages:
    """Passages of one namespace and one model."""

    def __init__(self, database: sqlite3.Connection, namespace: str, model: str) -> None:
        self._database = database
        self._namespace = namespace
        self._model = model

    def newest(self) -> Place:
        """The entity that changed last."""
        row = self._database.execute(
            "SELECT stamp, id FROM documents WHERE ns = ? ORDER BY stamp DESC, id DESC LIMIT 1",
            (self._namespace,),
        ).fetchone()
        return Place(*row) if row is not None else Place(0, 0)

    def unembedded_after(self, place: Place, limit: int) -> list[Unembedded]:
        """Entities that changed after this and have no vectors of it, the oldest change first."""
        return self._unembedded("d.stamp >= ? AND (d.stamp > ? OR d.id > ?)", "", place, limit)

    def unembedded_until(self, place: Place, limit: int) -> list[Unembedded]:
        """Entities that changed before this, or then, and have no vectors, the latest first."""
        return self._unembedded("d.stamp <= ? AND (d.stamp < ? OR d.id <= ?)", "DESC", place, limit)

    def _unembedded(self, where: str, order: str, place: Place, limit: int) -> list[Unembedded]:
        rows = self._database.execute(
            f"SELECT d.name, d.stamp, d.id FROM documents d WHERE d.ns = ? AND {where} "
            "AND NOT EXISTS (SELECT 1 FROM embedded e WHERE e.model = ? AND e.document = d.id "
            f"AND e.stamp = d.stamp) ORDER BY d.stamp {order}, d.id {order} LIMIT ?",
            (self._namespace, place.stamp, place.stamp, place.document, self._model, limit),
        )
        return [Unembedded(name, Place(stamp, number)) for name, stamp, number in rows]

    def count_unembedded(self) -> int:
        """How many entities have no vectors of what they say now."""
        (count,) = self._database.execute(
            "SELECT count(*) FROM documents d WHERE d.ns = ? AND NOT EXISTS (SELECT 1 "
            "FROM embedded e WHERE e.model = ? AND e.document = d.id AND e.stamp = d.stamp)",
            (self._namespace, self._model),
        ).fetchone()
        return int(count)

    def digests(self, document: int) -> set[bytes]:
        """Of the passages that are kept of an entity."""
        rows = self._database.execute(
            "SELECT digest FROM passages WHERE document = ? AND model = ?", (document, self._model)
        )
        return {digest for (digest,) in rows}

    def vectors_after(self, number: int, limit: int) -> list[tuple[int, bytes]]:
        """Passages with larger numbers, in their order."""
        # CROSS JOIN keeps the order: else SQLite goes through all documents, to find nothing new.
        rows = self._database.execute(
            "SELECT p.id, p.vector FROM passages p CROSS JOIN documents d ON d.id = p.document "
            "WHERE p.id > ? AND p.model = ? AND d.ns = ? ORDER BY p.id LIMIT ?",
            (number, self._model, self._namespace, limit),
        )
        return rows.fetchall()

    def named(self, numbers: Sequence[int]) -> dict[int, StoredPassage]:
        """Those of these passages that are still there."""
        marks = ", ".join("?" * len(numbers))
        rows = self._database.execute(
            "SELECT p.id, d.name, p.observation, p.vector FROM passages p "
            f"JOIN documents d ON d.id = p.document WHERE p.id IN ({marks})",
            tuple(numbers),
        )
        return {number: StoredPassage(*others) for number, *others in rows}

    def of_entities(self, names: Sequence[str]) -> list[StoredPassage]:
        """Every passage of these entities."""
        marks = ", ".join("?" * len(names))
        rows = self._database.execute(
            "SELECT d.name, p.observation, p.vector FROM documents d "
            "JOIN passages p ON p.document = d.id AND p.model = ? "
            f"WHERE d.ns = ? AND d.name IN ({marks})",
            (self._model, self._namespace, *names),
        )
        return [StoredPassage(*row) for row in rows]

    def keep(self, of: Unembedded, made: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Keep the vectors of an entity (digest, observation, vector), if it is still as it was."""
        place = of.place
        found = self._database.execute(
            "SELECT 1 FROM documents WHERE id = ? AND stamp = ?", (place.document, place.stamp)
        ).fetchone()
        if found is None:
            return
        known = self.digests(place.document)
        self._database.executemany(
            "INSERT INTO passages(document, model, digest, observation, vector) "
            "VALUES(?, ?, ?, ?, ?)",
            [(place.document, self._model, *one) for one in made if one[0] not in known],
        )
        self._database.execute(
            "INSERT OR REPLACE INTO embedded(model, document, stamp) VALUES(?, ?, ?)",
            (self._model, place.document, place.stamp),
        )

    def forget(self, document: int) -> None:
        """Drop what is kept of an entity, so that it is made anew."""
        for table in ("passages", "embedded"):
            self._database.execute(
                f"DELETE FROM {table} WHERE document = ? AND model = ?", (document, self._model)
            )


def drop_all_passages(database: sqlite3.Connection, document: int) -> None:
    """An entity is gone: so are its vectors, of every model."""
    models = database.execute("SELECT DISTINCT model FROM embedded").fetchall()
    database.executemany(
        "DELETE FROM embedded WHERE model = ? AND document = ?",
        [(model, document) for (model,) in models],
    )
    database.execute("DELETE FROM passages WHERE document = ?", (document,))


def drop_other_passages(
    database: sqlite3.Connection, document: int, digests: Iterable[bytes]
) -> None:
    """An entity says something else now: what it no longer says is not found by it."""
    rows = database.execute(
        "SELECT id, digest FROM passages WHERE document = ?", (document,)
    ).fetchall()
    if rows:
        kept = set(digests)
        database.executemany(
            "DELETE FROM passages WHERE id = ?",
            [(number,) for number, digest in rows if digest not in kept],
        )
