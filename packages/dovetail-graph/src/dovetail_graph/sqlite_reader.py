"""Read the graph from SQLite, at any point of valid and recorded time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
    Times,
    join_periods,
)
from dovetail_graph.sqlite_conditions import in_chunks, placeholders, view_condition
from dovetail_graph.sqlite_counts import SqliteCounts
from dovetail_graph.sqlite_passages import SqlitePassages
from dovetail_graph.sqlite_search import SqliteSearch
from dovetail_graph.storage import ChangeFilter, ChangePosition, Match, Page, Texts
from dovetail_graph.timestamps import ANY_TIME, FOREVER, Span, View, clock

__all__ = ["ENTITY", "OBSERVATION", "RELATION", "SqliteReader"]

_Record = TypeVar("_Record")
# The last columns of each table, in the order of _times.
_TIMES = "deleted, valid_from, valid_to, recorded_from, recorded_to"
ENTITY = f"name, kind, changed_by, {_TIMES}"
OBSERVATION = f"entity, content, source, confidence, reinforced, changed_by, {_TIMES}"
RELATION = "source, target, kind, strength, confidence, metadata, reinforced, changed_by, " + _TIMES


def _times(row: Sequence[Any]) -> tuple[Times, bool]:
    return Times(Span(row[-4], row[-3]), Span(row[-2], row[-1])), bool(row[-5])


def _entity(row: Sequence[Any]) -> EntityRecord:
    return EntityRecord(row[0], row[1], row[2], *_times(row))


def _observation(row: Sequence[Any]) -> ObservationRecord:
    return ObservationRecord(row[0], row[1], row[2], row[3], row[4], row[5], *_times(row))


def _relation(row: Sequence[Any]) -> RelationRecord:
    key = RelationKey(row[0], row[1], row[2])
    return RelationRecord(key, row[3], row[4], json.loads(row[5]), row[6], row[7], *_times(row))


class SqliteReader:
    """One snapshot of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        self.database = database
        self.namespace = namespace
        self._now: int | None = None
        self._search = SqliteSearch(database, namespace)

    def now(self) -> int:
        """Return the time of this snapshot, never before the last change."""
        if self._now is None:
            # This query also starts the snapshot, before the clock is read.
            (stamp,) = self._one("SELECT stamp FROM clock")
            self._now = max(clock(), stamp)
        return self._now

    def find(self, name: str) -> str:
        """Return the current name of the entity with this name or alias, or the name unchanged."""
        seen = [name]
        while len(seen) < 10:
            if self.entity_periods(seen[-1]):
                return seen[-1]
            row = self.database.execute(
                "SELECT name FROM aliases WHERE ns = ? AND alias = ?", (self.namespace, seen[-1])
            ).fetchone()
            if row is None or row[0] in seen:
                return name
            seen.append(row[0])
        return name

    def entity(self, name: str, view: View) -> EntityRecord | None:
        """Return an entity if it existed."""
        found = self.entities_named([name], view)
        return found[0] if found else None

    def entity_periods(self, name: str) -> list[EntityRecord]:
        """Return the versions of an entity in the current record, not deleted, by valid time."""
        found = self._select(ENTITY, "entities", "name = ?", (name,), ANY_TIME, _entity)
        return sorted(found, key=lambda row: row.times.valid.start)

    def entities_named(self, names: Sequence[str], view: View) -> list[EntityRecord]:
        """Return those entities that existed, in the order given."""
        found: dict[str, EntityRecord] = {}
        for chunk in in_chunks(names):
            where = f"name IN ({placeholders(chunk)})"
            rows = self._select(ENTITY, "entities", where, chunk, view, _entity, "")
            if view.valid is None:
                # The present version if there is one, else the latest.
                rows = join_periods(rows, lambda one: (one.name, one.kind))
                rows.sort(key=lambda one: self.now() in one.times.valid)
            for one in rows:
                found[one.name] = one
        return [found[name] for name in names if name in found]

    def existing_names(
        self, names: Sequence[str], view: View, types: Sequence[str] = ()
    ) -> set[str]:
        """Return the names that existed, with these types; faster than reading the entities."""
        at, times = view_condition(view)
        kinds = f" AND kind IN ({placeholders(types)})" if types else ""
        found: set[str] = set()
        for chunk in in_chunks(names):
            rows = self.database.execute(
                f"SELECT name FROM entities WHERE ns = ? AND name IN ({placeholders(chunk)}) "
                f"AND {at}{kinds}",
                (self.namespace, *chunk, *times, *types),
            )
            found.update(name for (name,) in rows)
        return found

    def entities(self, view: View, page: Page) -> list[EntityRecord]:
        """Return entities in the order of their names."""
        where, given = "name > ?", (page.after, *page.types)
        if page.types:
            where += f" AND kind IN ({placeholders(page.types)})"
        ending = "ORDER BY name LIMIT ?"
        if view.valid is None:
            at, times = view_condition(view)
            rows = self.database.execute(
                f"SELECT DISTINCT name FROM entities WHERE ns = ? AND {where} AND {at} {ending}",
                (self.namespace, *given, *times, page.limit),
            )
            return self.entities_named([name for (name,) in rows], view)
        return self._select(ENTITY, "entities", where, given, view, _entity, ending, (page.limit,))

    def count_entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """Return the number of entities."""
        return SqliteCounts(self.database, self.namespace).entities(view, types)

    def observations(self, names: Sequence[str], view: View) -> list[ObservationRecord]:
        """Return the observations of these entities, the oldest first."""
        found: list[ObservationRecord] = []
        for chunk in in_chunks(names):
            where = f"entity IN ({placeholders(chunk)})"
            found += self._select(
                OBSERVATION, "observations", where, chunk, view, _observation, "ORDER BY id"
            )
        if view.valid is None:
            found = join_periods(found, lambda one: (one.entity, one.content))
        # By start of validity, so a new version of an old observation keeps its position.
        found.sort(key=lambda one: one.times.valid.start)
        return found

    def relations(
        self, view: View, *, sources: Sequence[str] = (), targets: Sequence[str] = ()
    ) -> list[RelationRecord]:
        """Return relations from one of the sources or to one of the targets."""
        found: dict[tuple[RelationKey, int], RelationRecord] = {}
        # Two index searches; a single query with OR would scan the whole table.
        for column, names in (("source", sources), ("target", targets)):
            for chunk in in_chunks(names):
                for one in self._relations(f"{column} IN ({placeholders(chunk)})", chunk, view):
                    found[one.key, one.times.valid.start] = one
        return [found[key] for key in sorted(found)]

    def relation(self, key: RelationKey, view: View) -> RelationRecord | None:
        """Return a relation if it and both of its entities existed."""
        given = (key.source, key.target, key.kind)
        found = self._relations("source = ? AND target = ? AND kind = ?", given, view)
        return found[-1] if found else None

    def relation_keys_of(self, name: str) -> list[RelationKey]:
        """Return the keys of its relations in the current record, of any valid time."""
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
        """Return every version ever recorded of an entity."""
        return self._select(ENTITY, "entities", "name = ?", (name,), None, _entity)

    def observation_rows(self, name: str) -> list[ObservationRecord]:
        """Return every version ever recorded of an entity's observations."""
        return self._select(OBSERVATION, "observations", "entity = ?", (name,), None, _observation)

    def relation_rows(self, key: RelationKey) -> list[RelationRecord]:
        """Return every version ever recorded of a relation."""
        given = (key.source, key.target, key.kind)
        where = "source = ? AND target = ? AND kind = ?"
        return self._select(RELATION, "relations", where, given, None, _relation)

    def names_ever(self, limit: int) -> tuple[list[str], int]:
        """Return names of past and present entities, last changed first, and their total count."""
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
        """Return every version of these entities, their observations and outgoing relations."""
        found: tuple[list[EntityRecord], list[ObservationRecord], list[RelationRecord]]
        found = ([], [], [])
        for chunk in in_chunks(names):
            among = f"IN ({placeholders(chunk)})"
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
        """Return entries of the change log."""
        where = "ns = ? AND at >= ? AND at < ?"
        given: list[Any] = [self.namespace, which.since, which.until]
        if which.kinds:
            where += f" AND kind IN ({placeholders(which.kinds)})"
            given += which.kinds
        if which.before is not None:
            where += " AND sequence < ?"
            given.append(which.before)
        rows = self.database.execute(
            "SELECT sequence, at, kind, action, name, detail, changed_by FROM changes "
            # Timestamps of changes only grow, so the index order is that of sequence numbers.
            f"WHERE {where} ORDER BY at DESC, sequence DESC LIMIT ?",
            (*given, which.limit),
        )
        return [Change(*row) for row in rows]

    def last_change(self) -> int:
        """Return the sequence number of the last entry of the change log."""
        return int(
            self._one("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'")[0]
        )

    def aliases(self, name: str) -> list[str]:
        """Return the former names of an entity."""
        rows = self.database.execute(
            "SELECT alias FROM aliases WHERE ns = ? AND name = ? ORDER BY alias",
            (self.namespace, name),
        )
        return [alias for (alias,) in rows]

    def match_words(self, query: str, mode: str, limit: int) -> list[Match]:
        """Search current entities by words; mode is all, any or prefix."""
        return self._search.match_words(query, mode, limit)

    def match_prefixes(self, words: Sequence[str], limit: int) -> list[Match]:
        """Search current entities by beginnings of words, ignoring very common ones."""
        return self._search.match_prefixes(words, limit)

    def match_spelling(self, name: str, limit: int) -> list[Match]:
        """Search current entities by similar spelling of the name."""
        return self._search.match_spelling(name, limit)

    def candidate_names(self, view: View, words: Sequence[str]) -> list[str]:
        """Return a superset of the entities with one of these ASCII words, at any time."""
        at, times = view_condition(view)
        names: set[str] = set()
        for column, table, texts in (
            ("name", "entities", ("name", "kind")),
            ("entity", "observations", ("content",)),
        ):
            # Accents are folded only later, so every text with non-ASCII characters is a candidate.
            tests = [f"{text} GLOB '*[^ -~]*'" for text in texts]
            tests += [f"{text} LIKE ?" for text in texts for _ in words]
            rows = self.database.execute(
                f"SELECT DISTINCT {column} FROM {table} WHERE ns = ? AND {at} "
                f"AND ({' OR '.join(tests)})",
                (self.namespace, *times, *(f"%{word}%" for _ in texts for word in words)),
            )
            names.update(name for (name,) in rows)
        return sorted(names)

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return names of current entities, for completion."""
        return self._search.names_starting_with(prefix, limit)

    def count_types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """Return the number of entities and of relations by type."""
        return SqliteCounts(self.database, self.namespace).types(view)

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Return the entities with the most relations."""
        return SqliteCounts(self.database, self.namespace).most_connected(view, limit)

    def searched_texts(self, name: str) -> Texts | None:
        """Return the indexed texts of an entity, or None if it does not exist at any time."""
        entity = self.entity(name, ANY_TIME)
        if entity is None:
            return None
        now = self.now()
        observations = self.observations([name], ANY_TIME)
        contents: dict[bool, dict[str, None]] = {True: {}, False: {}}
        for one in observations:
            contents[now in one.times.valid][one.content] = None
        spans = [entity.times.valid, *(one.times.valid for one in observations)]
        moments = (at for span in spans for at in (span.start, span.end) if at > now)
        return Texts(
            kind=entity.kind,
            current=list(contents[True]),
            past=[one for one in contents[False] if one not in contents[True]],
            is_current=now in entity.times.valid,
            due=min(moments, default=FOREVER),
        )

    def due_names(self, stamp: int) -> list[str]:
        """Return the names of documents that must be indexed again at this time."""
        rows = self.database.execute(
            "SELECT name FROM documents WHERE ns = ? AND due <= ?", (self.namespace, stamp)
        )
        return [name for (name,) in rows]

    def passages(self, model: str) -> SqlitePassages:
        """Return the vectors of a model."""
        return SqlitePassages(self.database, self.namespace, model)

    def document(self, name: str) -> ChangePosition | None:
        """Return the position of a current entity in the order of changes."""
        row = self.database.execute(
            "SELECT stamp, id FROM documents WHERE ns = ? AND name = ?", (self.namespace, name)
        ).fetchone()
        return None if row is None else ChangePosition(*row)

    def _relations(self, where: str, given: Sequence[Any], view: View) -> list[RelationRecord]:
        ends, end_times = self._ends(view)
        at, times = view_condition(view, "r")
        rows = self.database.execute(
            f"SELECT {RELATION} FROM relations r WHERE r.ns = ? AND {where} AND {at} AND {ends}",
            (self.namespace, *given, *times, *end_times),
        )
        found = [_relation(row) for row in rows]
        return join_periods(found, lambda one: one.key) if view.valid is None else found

    @staticmethod
    def _ends(view: View) -> tuple[str, tuple[int, ...]]:
        """Return the condition that both entities of a relation exist, and its parameters."""
        at, times = view_condition(view, "e")
        one = f"EXISTS (SELECT 1 FROM entities e WHERE e.ns = r.ns AND e.name = r.{{}} AND {at})"
        return f"{one.format('source')} AND {one.format('target')}", times * 2

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
        at, times = view_condition(view) if view is not None else ("1", ())
        rows = self.database.execute(
            f"SELECT {columns} FROM {table} WHERE ns = ? AND {where} AND {at} {ending}",
            (self.namespace, *given, *times, *more),
        )
        return [make(row) for row in rows]

    def _one(self, sql: str, given: Sequence[Any] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.database.execute(sql, given).fetchone()
        return row
