"""Reading the graph from SQLite, at any point of both times."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from dovetail.servers.graph.moments import FOREVER, Span, View, clock
from dovetail.servers.graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
    Times,
)
from dovetail.servers.graph.storage import ChangeFilter, Match, Page
from dovetail.servers.graph.text_rules import fold, quoted_words, trigrams

__all__ = ["ENTITY", "OBSERVATION", "RELATION", "SqliteReader"]

_Record = TypeVar("_Record")
_TIMES = "valid_from, valid_to, recorded_from, recorded_to"
ENTITY = f"name, kind, changed_by, {_TIMES}"
OBSERVATION = f"entity, content, source, confidence, reinforced, changed_by, {_TIMES}"
RELATION = "source, target, kind, strength, confidence, metadata, reinforced, changed_by, " + _TIMES
# SQLite takes more, but a list of names is also a text to be parsed.
_CHUNK = 500
# In searches CROSS JOIN keeps the order: SQLite would else go through all documents of a namespace
# and ask the full-text index for each.
# From here on a word is a common one.
_COMMON = 1_000


def _at(view: View, alias: str = "") -> tuple[str, tuple[int, ...]]:
    """The condition for what was true at a view, and its parameters."""
    dot = f"{alias}." if alias else ""
    valid = f"{dot}valid_from <= ? AND {dot}valid_to > ?"
    if view.recorded is None:
        return f"{dot}recorded_to = {FOREVER} AND {valid}", (view.valid, view.valid)
    recorded = f"{dot}recorded_from <= ? AND {dot}recorded_to > ?"
    return f"{recorded} AND {valid}", (view.recorded,) * 2 + (view.valid,) * 2


def _times(row: Sequence[Any]) -> Times:
    return Times(Span(row[-4], row[-3]), Span(row[-2], row[-1]))


def _entity(row: Sequence[Any]) -> EntityRecord:
    return EntityRecord(row[0], row[1], row[2], _times(row))


def _observation(row: Sequence[Any]) -> ObservationRecord:
    return ObservationRecord(row[0], row[1], row[2], row[3], row[4], row[5], _times(row))


def _relation(row: Sequence[Any]) -> RelationRecord:
    key = RelationKey(row[0], row[1], row[2])
    return RelationRecord(key, row[3], row[4], json.loads(row[5]), row[6], row[7], _times(row))


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _CHUNK):
        yield names[start : start + _CHUNK]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


class SqliteReader:
    """One state of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        self.database = database
        self.namespace = namespace
        self._now: int | None = None

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
        for chunk in _chunks(names):
            where = f"name IN ({_marks(chunk)})"
            for one in self._select(ENTITY, "entities", where, chunk, view, _entity, ""):
                found[one.name] = one
        return [found[name] for name in names if name in found]

    def entities(self, view: View, page: Page) -> list[EntityRecord]:
        """Entities in the order of their names."""
        where, given = "name > ?", (page.after, *page.types)
        if page.types:
            where += f" AND kind IN ({_marks(page.types)})"
        ending = "ORDER BY name LIMIT ?"
        return self._select(ENTITY, "entities", where, given, view, _entity, ending, (page.limit,))

    def count_entities(self, view: View, types: tuple[str, ...] = ()) -> int:
        """How many there were."""
        at, moments = _at(view)
        kinds = f" AND kind IN ({_marks(types)})" if types else ""
        sql = f"SELECT count(*) FROM entities WHERE ns = ? AND {at}{kinds}"
        return int(self._one(sql, (self.namespace, *moments, *types))[0])

    def observations(self, names: Sequence[str], view: View) -> list[ObservationRecord]:
        """What was known of them, the oldest first."""
        found: list[ObservationRecord] = []
        for chunk in _chunks(names):
            where = f"entity IN ({_marks(chunk)})"
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
            for chunk in _chunks(names):
                for one in self._relations(f"{column} IN ({_marks(chunk)})", chunk, view):
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

    def changes(self, which: ChangeFilter) -> list[Change]:
        """Lines of the log."""
        where = "ns = ? AND at >= ? AND at < ?"
        given: list[Any] = [self.namespace, which.since, which.until]
        if which.kinds:
            where += f" AND kind IN ({_marks(which.kinds)})"
            given += which.kinds
        if which.before is not None:
            where += " AND sequence < ?"
            given.append(which.before)
        rows = self.database.execute(
            "SELECT sequence, at, kind, action, name, detail, changed_by FROM changes "
            f"WHERE {where} ORDER BY sequence DESC LIMIT ?",
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
        words = [f"{word}*" if mode == "prefix" else word for word in quoted_words(query)]
        counts = self._count("texts", words)
        rare = [word for word in words if 0 < counts[word] <= _COMMON]
        common = [word for word in words if counts[word] > _COMMON]
        if mode == "any":
            # Beside a word that few have, one that many have says nothing and costs much.
            return self._rank(" OR ".join(rare), limit) or self._latest(" OR ".join(common), limit)
        if 0 in counts.values():
            return []
        if not common or not rare:
            return self._rank(" AND ".join(rare), limit) or self._latest(
                " AND ".join(common), limit
            )
        there = {match.name for match in self._latest(" AND ".join(words), _COMMON)}
        ranked = self._rank(" AND ".join(rare), _COMMON)
        return [match for match in ranked if match.name in there][:limit]

    def _rank(self, expression: str, limit: int) -> list[Match]:
        """The best first; the time grows with the number of entities that have a word."""
        if not expression:
            return []
        # A hit in the name says more than one among many observations.
        rows = self.database.execute(
            "SELECT d.name, bm25(texts, 8.0, 4.0, 1.0) AS score FROM texts "
            "CROSS JOIN documents d ON d.id = texts.rowid WHERE texts MATCH ? AND d.ns = ? "
            "ORDER BY score LIMIT ?",
            (expression, self.namespace, limit),
        )
        return [Match(name, -score) for name, score in rows]

    def _latest(self, expression: str, limit: int) -> list[Match]:
        """Those with it in their name or type, then others, the latest first: for common words."""
        if not expression:
            return []
        found: dict[str, Match] = {}
        for part, score in ((f"{{name kind}} : ({expression})", 1e-6), (expression, 1e-7)):
            rows = self.database.execute(
                "SELECT d.name FROM texts CROSS JOIN documents d ON d.id = texts.rowid "
                "WHERE texts MATCH ? AND d.ns = ? ORDER BY texts.rowid DESC LIMIT ?",
                (part, self.namespace, limit - len(found)),
            )
            for (name,) in rows:
                found.setdefault(name, Match(name, score))
        return list(found.values())

    def match_beginnings(self, words: Sequence[str], limit: int) -> list[Match]:
        """Entities of now with a word that begins so; beginnings that many have are left out."""
        terms = [f"{term}*" for word in words for term in quoted_words(word)]
        counts = self._count("texts", terms)
        return self._latest(" OR ".join(t for t in terms if 0 < counts[t] <= _COMMON), limit)

    def match_spelling(self, name: str, limit: int) -> list[Match]:
        """Entities of now with a similar name."""
        grams = trigrams(name)
        counts = self._count("spellings", grams)
        rare = [gram for gram in grams if 0 < counts[gram] <= _COMMON]
        common = [gram for gram in grams if counts[gram] > _COMMON]
        if not rare and not common:
            return []
        order = "rank" if rare else "spellings.rowid DESC"
        rows = self.database.execute(
            "SELECT d.name FROM spellings CROSS JOIN documents d ON d.id = spellings.rowid "
            f"WHERE spellings MATCH ? AND d.ns = ? ORDER BY {order} LIMIT ?",
            (" OR ".join(rare or common), self.namespace, limit),
        )
        return [Match(found, 0.0) for (found,) in rows]

    def _count(self, table: str, terms: Sequence[str]) -> dict[str, int]:
        """How many have each of the terms; counting stops where it is many."""
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
        return {term: self._one(sql, (term, _COMMON + 1))[0] for term in terms}

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Entities of now, for completion."""
        start = fold(prefix)
        rows = self.database.execute(
            "SELECT name FROM documents WHERE ns = ? AND folded >= ? AND folded < ? "
            "ORDER BY folded LIMIT ?",
            (self.namespace, start, start + "\U0010ffff", limit),
        )
        return [name for (name,) in rows]

    def count_types(self, view: View) -> tuple[dict[str, int], dict[str, int]]:
        """How many entities and relations of each type."""
        at, moments = _at(view)
        entities = self.database.execute(
            f"SELECT kind, count(*) FROM entities WHERE ns = ? AND {at} GROUP BY kind",
            (self.namespace, *moments),
        )
        # By their own times: looking up both ends of each would take seconds in a large graph.
        relations = self.database.execute(
            f"SELECT kind, count(*) FROM relations WHERE ns = ? AND {at} GROUP BY kind",
            (self.namespace, *moments),
        )
        return dict(entities), dict(relations)

    def most_connected(self, view: View, limit: int) -> list[tuple[str, int]]:
        """Entities with the most relations."""
        at, moments = _at(view)
        one = f"FROM relations WHERE ns = ? AND {at}"
        names: set[str] = set()
        for column in ("source", "target"):
            rows = self.database.execute(
                f"SELECT {column}, count(*) AS degree {one} GROUP BY {column} "
                "ORDER BY degree DESC LIMIT ?",
                (self.namespace, *moments, 20 * limit),
            )
            names |= {name for name, _ in rows}
        # Only who is high on one of both lists can be first in the sum, but for rare ties.
        degrees = [
            (
                name,
                sum(
                    self._one(
                        f"SELECT count(*) {one} AND {column} = ?",
                        (self.namespace, *moments, name),
                    )[0]
                    for column in ("source", "target")
                ),
            )
            for name in names
        ]
        return sorted(degrees, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def vectors(self, model: str) -> dict[str, tuple[int, bytes]]:
        """Kept vectors by name, each with the moment of what it was made from."""
        rows = self.database.execute(
            "SELECT d.name, v.stamp, v.vector FROM vectors v JOIN documents d ON d.id = v.document "
            "WHERE v.model = ? AND d.ns = ?",
            (model, self.namespace),
        )
        return {name: (stamp, vector) for name, stamp, vector in rows}

    def documents(self) -> dict[str, int]:
        """Every entity of now and the moment it last changed."""
        rows = self.database.execute(
            "SELECT name, stamp FROM documents WHERE ns = ?", (self.namespace,)
        )
        return dict(rows.fetchall())

    def _relations(self, where: str, given: Sequence[Any], view: View) -> list[RelationRecord]:
        ends, end_moments = self._ends(view)
        at, moments = _at(view, "r")
        rows = self.database.execute(
            f"SELECT {RELATION} FROM relations r WHERE r.ns = ? AND {where} AND {at} AND {ends}",
            (self.namespace, *given, *moments, *end_moments),
        )
        return [_relation(row) for row in rows]

    @staticmethod
    def _ends(view: View) -> tuple[str, tuple[int, ...]]:
        """A relation is there when it and both of its entities are."""
        at, moments = _at(view, "e")
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
        at, moments = _at(view) if view is not None else ("1", ())
        rows = self.database.execute(
            f"SELECT {columns} FROM {table} WHERE ns = ? AND {where} AND {at} {ending}",
            (self.namespace, *given, *moments, *more),
        )
        return [make(row) for row in rows]

    def _one(self, sql: str, given: Sequence[Any] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] = self.database.execute(sql, given).fetchone()
        return row
