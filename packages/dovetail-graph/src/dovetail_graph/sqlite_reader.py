"""Reading the graph from SQLite, at any point of both times."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dovetail_graph.moments import FOREVER, Span, View, clock
from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
    Times,
)
from dovetail_graph.sqlite_counts import SqliteCounts
from dovetail_graph.sqlite_passages import SqlitePassages
from dovetail_graph.sqlite_search import SqliteSearch
from dovetail_graph.sqlite_terms import at_view, in_chunks, marks
from dovetail_graph.storage import ChangeFilter, Match, Page, Place

__all__ = ["ENTITY", "OBSERVATION", "RELATION", "SqliteReader"]

_Record = TypeVar("_Record")
_TIMES = "valid_from, valid_to, recorded_from, recorded_to"
ENTITY = f"name, kind, changed_by, {_TIMES}"
OBSERVATION = f"entity, content, source, confidence, reinforced, changed_by, {_TIMES}"
RELATION = "source, target, kind, strength, confidence, metadata, reinforced, changed_by, " + _TIMES


def _times(row: Sequence[Any]) -> Times:
    return Times(Span(row[-4], row[-3]), Span(row[-2], row[-1]))


def _entity(row: Sequence[Any]) -> EntityRecord:
    return EntityRecord(row[0], row[1], row[2], _times(row))


def _observation(row: Sequence[Any]) -> ObservationRecord:
    return ObservationRecord(row[0], row[1], row[2], row[3], row[4], row[5], _times(row))


def _relation(row: Sequence[Any]) -> RelationRecord:
    key = RelationKey(row[0], row[1], row[2])
    return RelationRecord(key, row[3], row[4], json.loads(row[5]), row[6], row[7], _times(row))


class SqliteReader:
    """One state of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        self.database = database
        self.namespace = namespace
        self._now: int | None = None
        self._search = SqliteSearch(database, namespace)

    def now(self) -> int:
        """The moment of this state, never before the last change."""
        if self._now is None:
            # Also what makes the transaction see its state, before the clock is looked at.
            (stamp,) = self._one("SELECT stamp FROM clock")
            self._now = max(clock(), stamp)
        return self._now

    def find(self, name: str) -> str:
        """The name of the entity that goes by this name now, or the name itself."""
        seen = [name]
        while len(seen) < 10:
            if self.entity(seen[-1], View(self.now())) is not None:
                return seen[-1]
            row = self.database.execute(
                "SELECT name FROM aliases WHERE ns = ? AND alias = ?", (self.namespace, seen[-1])
            ).fetchone()
            if row is None or row[0] in seen:
                return name
            seen.append(row[0])
        return name

    def entity(self, name: str, view: View) -> EntityRecord | None:
        """An entity, if it was there."""
        found = self._select(ENTITY, "entities", "name = ?", (name,), view, _entity)
        return found[0] if found else None

    def entities_named(self, names: Sequence[str], view: View) -> list[EntityRecord]:
        """Those of them that were there, in the order given."""
        found: dict[str, EntityRecord] = {}
        for chunk in in_chunks(names):
            where = f"name IN ({marks(chunk)})"
            for one in self._select(ENTITY, "entities", where, chunk, view, _entity, ""):
                found[one.name] = one
        return [found[name] for name in names if name in found]

    def names_there(self, names: Sequence[str], view: View, types: Sequence[str] = ()) -> set[str]:
        """Those of them that were there, of these types: quicker than to read them."""
        at, moments = at_view(view)
        kinds = f" AND kind IN ({marks(types)})" if types else ""
        found: set[str] = set()
        for chunk in in_chunks(names):
            rows = self.database.execute(
                f"SELECT name FROM entities WHERE ns = ? AND name IN ({marks(chunk)}) "
                f"AND {at}{kinds}",
                (self.namespace, *chunk, *moments, *types),
            )
            found.update(name for (name,) in rows)
        return found

    def entities(self, view: View, page: Page) -> list[EntityRecord]:
        """Entities in the order of their names."""
        where, given = "name > ?", (page.after, *page.types)
        if page.types:
            where += f" AND kind IN ({marks(page.types)})"
        ending = "ORDER BY name LIMIT ?"
        return self._select(ENTITY, "entities", where, given, view, _entity, ending, (page.limit,))

    def count_entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """How many there were."""
        return SqliteCounts(self.database, self.namespace).entities(view, types)

    def observations(self, names: Sequence[str], view: View) -> list[ObservationRecord]:
        """What was known of them, the oldest first."""
        found: list[ObservationRecord] = []
        for chunk in in_chunks(names):
            where = f"entity IN ({marks(chunk)})"
            found += self._select(
                OBSERVATION, "observations", where, chunk, view, _observation, "ORDER BY id"
            )
        # By when it became true; a new version of an old statement keeps its place.
        found.sort(key=lambda one: one.times.valid.start)
        return found

    def relations(
        self, view: View, *, sources: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> list[RelationRecord]:
        """Relations that leave one of the sources or reach one of the targets."""
        found: dict[RelationKey, RelationRecord] = {}
        # Two searches by index; one with OR would go through the whole table.
        for column, names in (("source", sources), ("target", targets)):
            for chunk in in_chunks(names):
                for one in self._relations(f"{column} IN ({marks(chunk)})", chunk, view):
                    found[one.key] = one
        return [found[key] for key in sorted(found)]

    def relation(self, key: RelationKey, view: View) -> RelationRecord | None:
        """A relation, if it and both of its ends were there."""
        given = (key.source, key.target, key.kind)
        found = self._relations("source = ? AND target = ? AND kind = ?", given, view)
        return found[0] if found else None

    def keys_touching(self, name: str) -> list[RelationKey]:
        """Relations from or to it that the record of now holds, whenever they are true."""
        one = (
            "SELECT source, target, kind FROM relations "
            f"WHERE ns = ? AND {{}} = ? AND recorded_to = {FOREVER}"
        )
        rows = self.database.execute(
            f"{one.format('source')} UNION {one.format('target')}",
            (self.namespace, name, self.namespace, name),
        )
        return sorted(RelationKey(*row) for row in rows)

    def entity_rows(self, name: str) -> list[EntityRecord]:
        """Everything that was ever recorded of it."""
        return self._select(ENTITY, "entities", "name = ?", (name,), None, _entity)

    def observation_rows(self, name: str) -> list[ObservationRecord]:
        """Everything that was ever recorded of it."""
        return self._select(OBSERVATION, "observations", "entity = ?", (name,), None, _observation)

    def relation_rows(self, key: RelationKey) -> list[RelationRecord]:
        """Everything that was ever recorded of it."""
        given = (key.source, key.target, key.kind)
        where = "source = ? AND target = ? AND kind = ?"
        return self._select(RELATION, "relations", where, given, None, _relation)

    def names_ever(self, limit: int) -> tuple[list[str], int]:
        """Entities that ever were, the latest changed first, and how many there are in all."""
        rows = self.database.execute(
            "SELECT name FROM entities WHERE ns = ? GROUP BY name "
            "ORDER BY max(recorded_from) DESC, name LIMIT ?",
            (self.namespace, limit),
        ).fetchall()
        (total,) = self._one(
            "SELECT count(DISTINCT name) FROM entities WHERE ns = ?", (self.namespace,)
        )
        return [name for (name,) in rows], total

    def rows_on(
        self, names: Sequence[str]
    ) -> tuple[list[EntityRecord], list[ObservationRecord], list[RelationRecord]]:
        """Everything that was ever recorded of them, and of relations that leave them."""
        found: tuple[list[EntityRecord], list[ObservationRecord], list[RelationRecord]]
        found = ([], [], [])
        for chunk in in_chunks(names):
            among = f"IN ({marks(chunk)})"
            found[0].extend(self._select(ENTITY, "entities", f"name {among}", chunk, None, _entity))
            found[1].extend(
                self._select(
                    OBSERVATION, "observations", f"entity {among}", chunk, None, _observation
                )
            )
            found[2].extend(
                self._select(RELATION, "relations", f"source {among}", chunk, None, _relation)
            )
        return found

    def changes(self, which: ChangeFilter) -> list[Change]:
        """Lines of the log."""
        where = "ns = ? AND at >= ? AND at < ?"
        given: list[Any] = [self.namespace, which.since, which.until]
        if which.kinds:
            where += f" AND kind IN ({marks(which.kinds)})"
            given += which.kinds
        if which.before is not None:
            where += " AND sequence < ?"
            given.append(which.before)
        rows = self.database.execute(
            "SELECT sequence, at, kind, action, name, detail, changed_by FROM changes "
            # The order of the index is that of the numbers: moments of changes only grow.
            f"WHERE {where} ORDER BY at DESC, sequence DESC LIMIT ?",
            (*given, which.limit),
        )
        return [Change(*row) for row in rows]

    def last_change(self) -> int:
        """The number of the last line of the log."""
        return int(
            self._one("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'")[0]
        )

    def aliases(self, name: str) -> list[str]:
        """Former names."""
        rows = self.database.execute(
            "SELECT alias FROM aliases WHERE ns = ? AND name = ? ORDER BY alias",
            (self.namespace, name),
        )
        return [alias for (alias,) in rows]

    def match_words(self, query: str, mode: str, limit: int) -> list[Match]:
        """Entities of now by words; mode is all, any or prefix."""
        return self._search.match_words(query, mode, limit)

    def match_beginnings(self, words: Sequence[str], limit: int) -> list[Match]:
        """Entities of now with a word that begins so; beginnings that many have are left out."""
        return self._search.match_beginnings(words, limit)

    def match_spelling(self, name: str, limit: int) -> list[Match]:
        """Entities of now with a similar name."""
        return self._search.match_spelling(name, limit)

    def names_with_letters(self, view: View, words: Sequence[str]) -> list[str]:
        """Entities of any time that may have one of these ASCII words; none is missed."""
        at, moments = at_view(view)
        names: set[str] = set()
        for column, table, texts in (
            ("name", "entities", ("name", "kind")),
            ("entity", "observations", ("content",)),
        ):
            # Letters with accents are folded to others only later: a text with any is looked at.
            tests = [f"{text} GLOB '*[^ -~]*'" for text in texts]
            tests += [f"{text} LIKE ?" for text in texts for _ in words]
            rows = self.database.execute(
                f"SELECT DISTINCT {column} FROM {table} WHERE ns = ? AND {at} "
                f"AND ({' OR '.join(tests)})",
                (self.namespace, *moments, *(f"%{word}%" for _ in texts for word in words)),
            )
            names.update(name for (name,) in rows)
        return sorted(names)

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Entities of now, for completion."""
        return self._search.names_starting_with(prefix, limit)

    def count_types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """How many entities and relations of each type."""
        return SqliteCounts(self.database, self.namespace).types(view)

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Entities with the most relations."""
        return SqliteCounts(self.database, self.namespace).most_connected(view, limit)

    def searched_texts(self, name: str) -> tuple[str, list[str]] | None:
        """The type and the observations that an entity is found by, the oldest first."""
        # What is still to become true is found as well; whoever asks looks at the time.
        alive = f"recorded_to = {FOREVER} AND valid_to > {self.now()}"
        key = (self.namespace, name)
        entity = self.database.execute(
            f"SELECT kind FROM entities WHERE ns = ? AND name = ? AND {alive}", key
        ).fetchone()
        if entity is None:
            return None
        rows = self.database.execute(
            f"SELECT content FROM observations WHERE ns = ? AND entity = ? AND {alive} ORDER BY id",
            key,
        )
        return entity[0], [content for (content,) in rows]

    def passages(self, model: str) -> SqlitePassages:
        """The vectors of a model."""
        return SqlitePassages(self.database, self.namespace, model)

    def document(self, name: str) -> Place | None:
        """Where in the order of changes an entity of now stands."""
        row = self.database.execute(
            "SELECT stamp, id FROM documents WHERE ns = ? AND name = ?", (self.namespace, name)
        ).fetchone()
        return None if row is None else Place(*row)

    def _relations(self, where: str, given: Sequence[Any], view: View) -> list[RelationRecord]:
        ends, end_moments = self._ends(view)
        at, moments = at_view(view, "r")
        rows = self.database.execute(
            f"SELECT {RELATION} FROM relations r WHERE r.ns = ? AND {where} AND {at} AND {ends}",
            (self.namespace, *given, *moments, *end_moments),
        )
        return [_relation(row) for row in rows]

    @staticmethod
    def _ends(view: View) -> tuple[str, tuple[int, ...]]:
        """A relation is there when it and both of its entities are."""
        at, moments = at_view(view, "e")
        one = f"EXISTS (SELECT 1 FROM entities e WHERE e.ns = r.ns AND e.name = r.{{}} AND {at})"
        return f"{one.format('source')} AND {one.format('target')}", moments * 2

    def _select(
        self,
        columns: str,
        table: str,
        where: str,
        given: Sequence[Any],
        view: View | None,
        make: Callable[[Sequence[Any]], _Record],
        ending: str = "ORDER BY recorded_from, valid_from, id",
        more: Sequence[Any] = (),
    ) -> list[_Record]:
        at, moments = at_view(view) if view is not None else ("1", ())
        rows = self.database.execute(
            f"SELECT {columns} FROM {table} WHERE ns = ? AND {where} AND {at} {ending}",
            (self.namespace, *given, *moments, *more),
        )
        return [make(row) for row in rows]

    def _one(self, sql: str, given: Sequence[Any] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.database.execute(sql, given).fetchone()
        return row
