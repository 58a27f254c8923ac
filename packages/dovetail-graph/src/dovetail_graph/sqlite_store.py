"""The store in one SQLite file.

Every fact (an entity, an observation, a relation) has its own rows. Recording it for a span of
valid time closes the rows that overlap the span and inserts the new version; rows are never
overwritten, so history is kept. Every transaction has its own timestamp, later than all before it
even if the clock goes back, so a timestamp identifies exactly one state.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dovetail_graph.passages import passages_of
from dovetail_graph.records import (
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)
from dovetail_graph.sqlite_file import SqliteFile
from dovetail_graph.sqlite_passages import drop_all_passages, drop_other_passages
from dovetail_graph.sqlite_reader import (
    ENTITY,
    OBSERVATION,
    RELATION,
    SqliteReader,
)
from dovetail_graph.text_normalization import fold, separate_ideographs
from dovetail_graph.timestamps import FOREVER, Span, clock

__all__ = ["SqliteStore"]

# Table -> its columns and the condition that selects one fact.
_FACTS = {
    "entities": (ENTITY, "name = ?"),
    "observations": (OBSERVATION, "entity = ? AND content = ?"),
    "relations": (RELATION, "source = ? AND target = ? AND kind = ?"),
}


class SqliteStore:
    """One namespace of one file."""

    def __init__(self, path: Path, namespace: str) -> None:
        self._file = SqliteFile(path)
        self._namespace = namespace

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Open a snapshot for reading."""
        with self._file.reading() as database:
            yield SqliteReader(database, self._namespace)

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """Open a write transaction; an exception rolls it back."""
        with self._file.writing() as database:
            writer = SqliteWriter(database, self._namespace)
            yield writer
            writer.finish()

    def compact(self) -> None:
        """Rewrite the files after a purge, so that nothing of the erased data is left in them."""
        self._file.vacuum()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SqliteWriter(SqliteReader):
    """A write transaction of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        super().__init__(database, namespace)
        (last,) = database.execute("SELECT stamp FROM clock").fetchone()
        self._stamp = max(clock(), last + 1)
        self._now = self._stamp
        # Entities whose texts must be indexed again.
        self._touched: set[str] = set()

    def put_entity(self, entity: EntityRecord, span: Span) -> None:
        """Record the entity as valid in this span."""
        self._supersede("entities", (entity.name,), span)
        self._insert("entities", (entity.name, entity.kind, entity.changed_by), span)
        self._touched.add(entity.name)

    def put_observation(self, observation: ObservationRecord, span: Span) -> None:
        """Record the observation as valid in this span."""
        one = observation
        self._supersede("observations", (one.entity, one.content), span)
        values = (one.entity, one.content, one.source, one.confidence, one.reinforced)
        self._insert("observations", (*values, one.changed_by), span)
        self._touched.add(one.entity)

    def put_relation(self, relation: RelationRecord, span: Span) -> None:
        """Record the relation as valid in this span."""
        key = (relation.key.source, relation.key.target, relation.key.kind)
        self._supersede("relations", key, span)
        metadata = json.dumps(relation.metadata, ensure_ascii=False)
        values = (relation.strength, relation.confidence, metadata, relation.reinforced)
        self._insert("relations", (*key, *values, relation.changed_by), span)

    def drop_entity(self, name: str, span: Span) -> None:
        """Record that in this span the entity, its observations and relations do not exist."""
        self._supersede("entities", (name,), span)
        self._supersede("observations", (name,), span, "entity = ?")
        self._supersede("relations", (name,), span, "source = ?")
        self._supersede("relations", (name,), span, "target = ?")
        self._touched.add(name)

    def drop_observation(self, name: str, content: str, span: Span) -> None:
        """Record that in this span the observation does not exist."""
        self._supersede("observations", (name, content), span)
        self._touched.add(name)

    def drop_relation(self, key: RelationKey, span: Span) -> None:
        """Record that in this span the relation does not exist."""
        self._supersede("relations", (key.source, key.target, key.kind), span)

    def add_alias(self, alias: str, name: str) -> None:
        """Add a former name by which the entity is found."""
        self.database.execute(
            "INSERT OR REPLACE INTO aliases(ns, alias, name) VALUES(?, ?, ?)",
            (self.namespace, alias, name),
        )

    def log(self, kind: str, action: str, name: str, detail: str, by: str | None) -> None:
        """Add an entry to the change log."""
        self.database.execute(
            "INSERT INTO changes(ns, at, kind, action, name, detail, changed_by) "
            "VALUES(?, ?, ?, ?, ?, ?, ?)",
            (self.namespace, self._stamp, kind, action, name, detail, by),
        )

    def purge_entity(self, name: str) -> int:
        """Erase an entity with its history; return the number of erased records."""
        self._touched.add(name)
        erased = self._erase("relations", "source = ? OR target = ?", (name, name))
        erased += self._erase("observations", "entity = ?", (name,))
        erased += self._erase("entities", "name = ?", (name,))
        self._erase("aliases", "name = ? OR alias = ?", (name, name))
        self._erase("changes", "name = ? OR instr(detail, ?) > 0", (name, name))
        return erased

    def purge_observation(self, name: str, content: str) -> int:
        """Erase an observation with its history; return the number of erased records."""
        self._touched.add(name)
        self._erase("changes", "name = ? AND detail = ?", (name, content[:200]))
        return self._erase("observations", "entity = ? AND content = ?", (name, content))

    def purge_relation(self, key: RelationKey) -> int:
        """Erase a relation with its history; return the number of erased records."""
        given = (key.source, key.target, key.kind)
        self._erase("changes", "kind = 'relation' AND name = ? AND detail = ?", _log_entry(key))
        return self._erase("relations", "source = ? AND target = ? AND kind = ?", given)

    def finish(self) -> None:
        """Update the search index and the clock; the last step before the commit."""
        for name in sorted(self._touched):
            self._index(name)
        self.database.execute("UPDATE clock SET stamp = ?", (self._stamp,))

    def _supersede(
        self, table: str, key: Sequence[Any], span: Span, condition: str | None = None
    ) -> None:
        columns, one = _FACTS[table]
        rows = self.database.execute(
            f"SELECT id, {columns} FROM {table} WHERE ns = ? AND {condition or one} "
            f"AND recorded_to = {FOREVER} AND valid_from < ? AND valid_to > ?",
            (self.namespace, *key, span.end, span.start),
        ).fetchall()
        for number, *values, start, end, recorded, _ in rows:
            if recorded == self._stamp:
                # Written and replaced in one transaction: no reader can have seen it.
                self.database.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
            else:
                self.database.execute(
                    f"UPDATE {table} SET recorded_to = ? WHERE id = ?", (self._stamp, number)
                )
            if start < span.start:
                self._insert(table, values, Span(start, span.start))
            if end > span.end:
                self._insert(table, values, Span(span.end, end))

    def _insert(self, table: str, values: Sequence[Any], span: Span) -> None:
        columns = _FACTS[table][0]
        given = (self.namespace, *values, span.start, span.end, self._stamp, FOREVER)
        marks = ", ".join("?" * len(given))
        self.database.execute(f"INSERT INTO {table}(ns, {columns}) VALUES({marks})", given)

    def _erase(self, table: str, condition: str, given: Sequence[Any]) -> int:
        return self.database.execute(
            f"DELETE FROM {table} WHERE ns = ? AND ({condition})", (self.namespace, *given)
        ).rowcount

    def _index(self, name: str) -> None:
        database, key = self.database, (self.namespace, name)
        found = database.execute(
            "SELECT id FROM documents WHERE ns = ? AND name = ?", key
        ).fetchone()
        texts = self.searched_texts(name)
        if found is not None:
            database.execute("DELETE FROM texts WHERE rowid = ?", found)
            if texts is None:
                database.execute("DELETE FROM spellings WHERE rowid = ?", found)
                database.execute("DELETE FROM documents WHERE id = ?", found)
                drop_all_passages(database, *found)
        if texts is None:
            return
        kind, contents = texts
        if found is None:
            number = database.execute(
                "INSERT INTO documents(ns, name, folded, stamp) VALUES(?, ?, ?, ?)",
                (*key, fold(name), self._stamp),
            ).lastrowid
            database.execute("INSERT INTO spellings(rowid, name) VALUES(?, ?)", (number, name))
        else:
            (number,) = found
            database.execute("UPDATE documents SET stamp = ? WHERE id = ?", (self._stamp, number))
            passages = passages_of(name, kind, contents)
            drop_other_passages(database, number, (one.digest for one in passages))
        database.execute(
            "INSERT INTO texts(rowid, name, kind, body) VALUES(?, ?, ?, ?)",
            (
                number,
                separate_ideographs(name),
                separate_ideographs(kind),
                separate_ideographs("\n".join(contents)),
            ),
        )


def _log_entry(key: RelationKey) -> tuple[str, str]:
    return key.source, f"{key.kind} {key.target}"
