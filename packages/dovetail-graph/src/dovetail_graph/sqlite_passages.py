"""The stored vectors of one model."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from dovetail_graph.storage import ChangePosition, StoredPassage, Unembedded

__all__ = ["SqlitePassages", "drop_all_passages", "drop_other_passages"]


class SqlitePassages:
    """Passages of one namespace and one model."""

    def __init__(self, database: sqlite3.Connection, namespace: str, model: str) -> None:
        self._database = database
        self._namespace = namespace
        self._model = model

    def newest(self) -> ChangePosition:
        """Return the position of the entity that changed last."""
        row = self._database.execute(
            "SELECT stamp, id FROM documents WHERE ns = ? ORDER BY stamp DESC, id DESC LIMIT 1",
            (self._namespace,),
        ).fetchone()
        return ChangePosition(*row) if row is not None else ChangePosition(0, 0)

    def unembedded_after(self, position: ChangePosition, limit: int) -> list[Unembedded]:
        """Return unembedded entities that changed after a position, the oldest change first."""
        return self._unembedded("d.stamp >= ? AND (d.stamp > ? OR d.id > ?)", "", position, limit)

    def unembedded_until(self, position: ChangePosition, limit: int) -> list[Unembedded]:
        """Return unembedded entities that changed at or before a position, the latest first."""
        return self._unembedded(
            "d.stamp <= ? AND (d.stamp < ? OR d.id <= ?)", "DESC", position, limit
        )

    def _unembedded(
        self, where: str, order: str, position: ChangePosition, limit: int
    ) -> list[Unembedded]:
        rows = self._database.execute(
            f"SELECT d.name, d.stamp, d.id FROM documents d WHERE d.ns = ? AND {where} "
            "AND NOT EXISTS (SELECT 1 FROM embedded e WHERE e.model = ? AND e.document = d.id "
            f"AND e.stamp = d.stamp) ORDER BY d.stamp {order}, d.id {order} LIMIT ?",
            (
                self._namespace,
                position.stamp,
                position.stamp,
                position.document,
                self._model,
                limit,
            ),
        )
        return [Unembedded(name, ChangePosition(stamp, number)) for name, stamp, number in rows]

    def count_unembedded(self) -> int:
        """Return how many entities have no up-to-date vectors."""
        (count,) = self._database.execute(
            "SELECT count(*) FROM documents d WHERE d.ns = ? AND NOT EXISTS (SELECT 1 "
            "FROM embedded e WHERE e.model = ? AND e.document = d.id AND e.stamp = d.stamp)",
            (self._namespace, self._model),
        ).fetchone()
        return int(count)

    def digests(self, document: int) -> set[bytes]:
        """Return the digests of an entity's stored passages."""
        rows = self._database.execute(
            "SELECT digest FROM passages WHERE document = ? AND model = ?", (document, self._model)
        )
        return {digest for (digest,) in rows}

    def vectors_after(self, number: int, limit: int) -> list[tuple[int, bytes]]:
        """Return (number, vector) of passages with larger numbers, in ascending order."""
        # CROSS JOIN fixes the join order: otherwise SQLite would scan all documents.
        rows = self._database.execute(
            "SELECT p.id, p.vector FROM passages p CROSS JOIN documents d ON d.id = p.document "
            "WHERE p.id > ? AND p.model = ? AND d.ns = ? ORDER BY p.id LIMIT ?",
            (number, self._model, self._namespace, limit),
        )
        return rows.fetchall()

    def get(self, numbers: Sequence[int]) -> dict[int, StoredPassage]:
        """Return those of these passages that still exist."""
        marks = ", ".join("?" * len(numbers))
        rows = self._database.execute(
            "SELECT p.id, d.name, p.observation, p.vector FROM passages p "
            f"JOIN documents d ON d.id = p.document WHERE p.id IN ({marks})",
            tuple(numbers),
        )
        return {number: StoredPassage(*others) for number, *others in rows}

    def of_entities(self, names: Sequence[str]) -> list[StoredPassage]:
        """Return every passage of these entities."""
        marks = ", ".join("?" * len(names))
        rows = self._database.execute(
            "SELECT d.name, p.observation, p.vector FROM documents d "
            "JOIN passages p ON p.document = d.id AND p.model = ? "
            f"WHERE d.ns = ? AND d.name IN ({marks})",
            (self._model, self._namespace, *names),
        )
        return [StoredPassage(*row) for row in rows]

    def save(self, entity: Unembedded, rows: Iterable[tuple[bytes, str, bytes]]) -> None:
        """Store (digest, observation, vector) rows unless the entity has changed meanwhile."""
        position = entity.position
        found = self._database.execute(
            "SELECT 1 FROM documents WHERE id = ? AND stamp = ?",
            (position.document, position.stamp),
        ).fetchone()
        if found is None:
            return
        known = self.digests(position.document)
        self._database.executemany(
            "INSERT INTO passages(document, model, digest, observation, vector) "
            "VALUES(?, ?, ?, ?, ?)",
            [(position.document, self._model, *one) for one in rows if one[0] not in known],
        )
        self._database.execute(
            "INSERT OR REPLACE INTO embedded(model, document, stamp) VALUES(?, ?, ?)",
            (self._model, position.document, position.stamp),
        )

    def delete(self, document: int) -> None:
        """Delete the vectors of an entity, so that they are computed again."""
        for table in ("passages", "embedded"):
            self._database.execute(
                f"DELETE FROM {table} WHERE document = ? AND model = ?", (document, self._model)
            )


def drop_all_passages(database: sqlite3.Connection, document: int) -> None:
    """Delete the vectors of a deleted entity, of every model."""
    models = database.execute("SELECT DISTINCT model FROM embedded").fetchall()
    database.executemany(
        "DELETE FROM embedded WHERE model = ? AND document = ?",
        [(model, document) for (model,) in models],
    )
    database.execute("DELETE FROM passages WHERE document = ?", (document,))


def drop_other_passages(
    database: sqlite3.Connection, document: int, digests: Iterable[bytes]
) -> None:
    """Delete the vectors of texts that an entity no longer has."""
    rows = database.execute(
        "SELECT id, digest FROM passages WHERE document = ?", (document,)
    ).fetchall()
    if rows:
        kept = set(digests)
        database.executemany(
            "DELETE FROM passages WHERE id = ?",
            [(number,) for number, digest in rows if digest not in kept],
        )
