"""Statistics of the graph, computed in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_graph.sqlite_conditions import placeholders, scanned_table, view_condition
from dovetail_graph.timestamps import View

__all__ = ["SqliteCounts"]

# most_connected stops extending its lists here, even if the order is not certain yet.
_ENOUGH = 1_000


class SqliteCounts:
    """Statistics of one snapshot of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        self.database = database
        self.namespace = namespace

    def entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """Return the number of entities."""
        at, times = view_condition(view)
        kinds = f" AND kind IN ({placeholders(types)})" if types else ""
        every = scanned_table("entities", "entities_now", view)
        # At any valid time an entity may have several rows.
        counted = "DISTINCT name" if view.valid is None else "*"
        sql = f"SELECT count({counted}) FROM {every} WHERE ns = ? AND {at}{kinds}"
        return int(self._one(sql, (self.namespace, *times, *types))[0])

    def types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """Return the number of entities and of relations by type."""
        at, times = view_condition(view)
        every = scanned_table("entities", "entities_now", view)
        entities = self.database.execute(
            f"SELECT kind, count(*) FROM {every} WHERE ns = ? AND {at} GROUP BY kind",
            (self.namespace, *times),
        )
        # Uses the relations' own times: checking both entities takes seconds in a large graph.
        every = scanned_table("relations", "relations_out", view)
        relations = self.database.execute(
            f"SELECT kind, count(*) FROM {every} WHERE ns = ? AND {at} GROUP BY kind",
            (self.namespace, *times),
        )
        return dict(entities), dict(relations)

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Return the entities with the most relations."""
        at, times = view_condition(view)
        given = (self.namespace, *times)
        columns = {
            column: f"FROM {scanned_table('relations', index, view)} WHERE ns = ? AND {at}"
            for column, index in (("source", "relations_out"), ("target", "relations_in"))
        }
        fetched = 4 * limit
        while True:
            # An entity on neither list has at most the sum of the lists' last degrees.
            lists = [
                self.database.execute(
                    f"SELECT {column}, count(*) AS degree {where} GROUP BY {column} "
                    "ORDER BY degree DESC LIMIT ?",
                    (*given, fetched),
                ).fetchall()
                for column, where in columns.items()
            ]
            unseen = sum(rows[-1][1] for rows in lists if len(rows) == fetched)
            ranked = self._add_up(columns, given, lists)
            is_sure = len(ranked) >= limit and ranked[limit - 1][1] >= unseen
            if is_sure or all(len(rows) < fetched for rows in lists) or fetched > _ENOUGH:
                return ranked[:limit]
            fetched *= 4

    def _add_up(
        self,
        columns: Mapping[str, str],
        given: Sequence[Any],
        lists: Sequence[Sequence[tuple[str, int]]],
    ) -> list[tuple[str, int]]:
        """Return the total degree of every entity on one of the lists."""
        outward, inward = (dict(rows) for rows in lists)
        degrees = []
        for name in outward.keys() | inward.keys():
            known = (outward.get(name), inward.get(name))
            degree = sum(
                self._one(f"SELECT count(*) {where} AND {column} = ?", (*given, name))[0]
                if count is None
                else count
                for (column, where), count in zip(columns.items(), known, strict=True)
            )
            degrees.append((name, degree))
        return sorted(degrees, key=lambda pair: (-pair[1], pair[0]))

    def _one(self, sql: str, given: Sequence[Any] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.database.execute(sql, given).fetchone()
        return row
