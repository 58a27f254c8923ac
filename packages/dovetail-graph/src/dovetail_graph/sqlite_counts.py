"""Numbers of the graph, counted in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_graph.moments import View
from dovetail_graph.sqlite_terms import all_of, at_view, marks

__all__ = ["SqliteCounts"]

# From here on a list of degrees is taken as it is: nobody looks at more.
_ENOUGH = 1_000


class SqliteCounts:
    """Counts of one state of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        self.database = database
        self.namespace = namespace

    def entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """How many there were."""
        at, moments = at_view(view)
        kinds = f" AND kind IN ({marks(types)})" if types else ""
        every = all_of("entities", "entities_now", view)
        sql = f"SELECT count(*) FROM {every} WHERE ns = ? AND {at}{kinds}"
        return int(self._one(sql, (self.namespace, *moments, *types))[0])

    def types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """How many entities and relations of each type."""
        at, moments = at_view(view)
        every = all_of("entities", "entities_now", view)
        entities = self.database.execute(
            f"SELECT kind, count(*) FROM {every} WHERE ns = ? AND {at} GROUP BY kind",
            (self.namespace, *moments),
        )
        # By their own times: looking up both ends of each would take seconds in a large graph.
        every = all_of("relations", "relations_out", view)
        relations = self.database.execute(
            f"SELECT kind, count(*) FROM {every} WHERE ns = ? AND {at} GROUP BY kind",
            (self.namespace, *moments),
        )
        return dict(entities), dict(relations)

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Entities with the most relations."""
        at, moments = at_view(view)
        given = (self.namespace, *moments)
        columns = {
            column: f"FROM {all_of('relations', index, view)} WHERE ns = ? AND {at}"
            for column, index in (("source", "relations_out"), ("target", "relations_in"))
        }
        looked_at = 4 * limit
        while True:
            # Both lists from the top. Who is on neither has at most the sum of their last degrees.
            lists = [
                self.database.execute(
                    f"SELECT {column}, count(*) AS degree {where} GROUP BY {column} "
                    "ORDER BY degree DESC LIMIT ?",
                    (*given, looked_at),
                ).fetchall()
                for column, where in columns.items()
            ]
            unseen = sum(rows[-1][1] for rows in lists if len(rows) == looked_at)
            ranked = self._add_up(columns, given, lists)
            is_sure = len(ranked) >= limit and ranked[limit - 1][1] >= unseen
            if is_sure or all(len(rows) < looked_at for rows in lists) or looked_at > _ENOUGH:
                return ranked[:limit]
            looked_at *= 4

    def _add_up(
        self,
        columns: Mapping[str, str],
        given: Sequence[Any],
        lists: Sequence[Sequence[tuple[str, int]]],
    ) -> list[tuple[str, int]]:
        """The degrees of those on one of the lists, in both directions."""
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
