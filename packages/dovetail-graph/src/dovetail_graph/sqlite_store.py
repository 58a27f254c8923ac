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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from dovetail import ToolError
from dovetail_graph.passages import passages_of
from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    Record,
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


_LOG = (
    "INSERT INTO changes(ns, at, kind, action, name, detail, changed_by) "
    "VALUES(?, ?, ?, ?, ?, ?, ?)"
)


class SqliteStore:
    """One namespace of one file."""

    def __init__(self, path: Path, namespace: str) -> None:
        self._file = SqliteFile(path)
        self._namespace = namespace
        # The first call reports a damaged file.
        with contextlib.suppress(ToolError):
            self._index_after_upgrade()

    def _index_after_upgrade(self) -> None:
        with self.reading() as reader:
            is_unindexed = bool(reader.due_names(0))
        if is_unindexed:
            with self.writing():
                pass

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
        self._put(entity, span)

    def put_observation(self, observation: ObservationRecord, span: Span) -> None:
        """Record the observation as valid in this span."""
        self._put(observation, span)

    def put_relation(self, relation: RelationRecord, span: Span) -> None:
        """Record the relation as valid in this span."""
        self._put(relation, span)

    def replay(self, rows: Iterable[Record], changes: Iterable[Change]) -> None:
        """Write versions and log entries with their times; the namespace must be empty."""
        events: list[tuple[int, bool, Record]] = []
        for row in rows:
            recorded = row.times.recorded
            events.append((recorded.start, True, row))
            if recorded.end < FOREVER:
                events.append((recorded.end, False, row))
        # Each version as it was written then, so that versions of one fact can never overlap.
        now = self._stamp
        for at, is_written, row in sorted(events, key=lambda event: event[:2]):
            self._stamp = at
            if is_written:
                self._put(row, row.times.valid)
            else:
                table, key, _ = _columns_of(row)
                self._supersede(table, key, row.times.valid)
        self._stamp = now
        self.database.executemany(
            _LOG, [(self.namespace, *astuple(change)[1:]) for change in changes]
        )

    def drop_entity(self, name: str, span: Span) -> None:
        """Record that in this span the entity, its observations and relations do not exist."""
        self._supersede("entities", (name,), span)
        self._supersede("observations", (name,), span, "entity = ?")
        self._supersede("relations", (name,), span, "source = ?")
        self._supersede("relations", (name,), span, "target = ?")
        self._touched.add(name)

    def delete_entity(self, name: str) -> None:
        """End an entity, its observations and relations now, and mark what is left as deleted."""
        self._delete("entities", (name,))
        self._delete("observations", (name,), "entity = ?")
        self._delete("relations", (name,), "source = ?")
        self._delete("relations", (name,), "target = ?")
        self._touched.add(name)

    def delete_observation(self, name: str, content: str) -> None:
        """End an observation now, and mark what is left as deleted."""
        self._delete("observations", (name, content))
        self._touched.add(name)

    def delete_relation(self, key: RelationKey) -> None:
        """End a relation now, and mark what is left as deleted."""
        self._delete("relations", (key.source, key.target, key.kind))

    def add_alias(self, alias: str, name: str) -> None:
        """Add a former name by which the entity is found."""
        self.database.execute(
            "INSERT OR REPLACE INTO aliases(ns, alias, name) VALUES(?, ?, ?)",
            (self.namespace, alias, name),
        )

    def log(self, kind: str, action: str, name: str, detail: str, by: str | None) -> None:
        """Add an entry to the change log."""
        self.database.execute(_LOG, (self.namespace, self._stamp, kind, action, name, detail, by))

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
        for name in sorted(self._touched.union(self.due_names(self._stamp))):
            self._index(name)
        self.database.execute("UPDATE clock SET stamp = ?", (self._stamp,))

    def _supersede(
        self, table: str, key: Sequence[Any], span: Span, condition: str | None = None
    ) -> None:
        """Close the versions of a fact that overlap a span, and write what is left of them."""
        for values, deleted, valid in self._close(table, key, span, condition):
            if valid.start < span.start:
                self._insert(table, values, Span(valid.start, span.start), deleted)
            if valid.end > span.end:
                self._insert(table, values, Span(span.end, valid.end), deleted)

    def _delete(self, table: str, key: Sequence[Any], condition: str | None = None) -> None:
        """Close every version of a fact, and write as deleted what was true until now."""
        for values, _, valid in self._close(table, key, Span(), condition):
            if valid.start < self._stamp:
                until = min(valid.end, self._stamp)
                self._insert(table, values, Span(valid.start, until), deleted=True)

    def _close(
        self, table: str, key: Sequence[Any], span: Span, condition: str | None
    ) -> list[tuple[Sequence[Any], bool, Span]]:
        """Close the versions that overlap a span; return their values, mark and valid span."""
        columns, one = _FACTS[table]
        rows = self.database.execute(
            f"SELECT id, {columns} FROM {table} WHERE ns = ? AND {condition or one} "
            f"AND recorded_to = {FOREVER} AND valid_from < ? AND valid_to > ?",
            (self.namespace, *key, span.end, span.start),
        ).fetchall()
        closed = []
        for number, *values, deleted, start, end, recorded, _ in rows:
            if recorded == self._stamp:
                # Written and replaced in one transaction: no reader can have seen it.
                self.database.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
            else:
                self.database.execute(
                    f"UPDATE {table} SET recorded_to = ? WHERE id = ?", (self._stamp, number)
                )
            closed.append((values, bool(deleted), Span(start, end)))
        return closed

    def _put(self, record: Record, span: Span) -> None:
        table, key, values = _columns_of(record)
        self._supersede(table, key, span)
        self._insert(table, (*key, *values, record.changed_by), span, record.deleted)
        if not isinstance(record, RelationRecord):
            self._touched.add(key[0])

    def _insert(self, table: str, values: Sequence[Any], span: Span, deleted: bool) -> None:
        columns = _FACTS[table][0]
        given = (self.namespace, *values, deleted, span.start, span.end, self._stamp, FOREVER)
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
        values = (fold(name), self._stamp, texts.is_current, texts.due)
        if found is None:
            number = database.execute(
                "INSERT INTO documents(ns, name, folded, stamp, current, due) "
                "VALUES(?, ?, ?, ?, ?, ?)",
                (*key, *values),
            ).lastrowid
            database.execute("INSERT INTO spellings(rowid, name) VALUES(?, ?)", (number, name))
        else:
            (number,) = found
            database.execute(
                "UPDATE documents SET folded = ?, stamp = ?, current = ?, due = ? WHERE id = ?",
                (*values, number),
            )
            passages = passages_of(name, texts.kind, texts.contents)
            drop_other_passages(database, number, (one.digest for one in passages))
        fields = (name, texts.kind, "\n".join(texts.current), "\n".join(texts.past))
        database.execute(
            "INSERT INTO texts(rowid, name, kind, body, past) VALUES(?, ?, ?, ?, ?)",
            (number, *map(separate_ideographs, fields)),
        )


def _columns_of(record: Record) -> tuple[str, tuple[str, ...], tuple[Any, ...]]:
    """Return the table of a record, the columns that identify its fact, and the others."""
    if isinstance(record, EntityRecord):
        return "entities", (record.name,), (record.kind,)
    if isinstance(record, ObservationRecord):
        values: tuple[Any, ...] = (record.source, record.confidence, record.reinforced)
        return "observations", (record.entity, record.content), values
    metadata = json.dumps(record.metadata, ensure_ascii=False)
    values = (record.strength, record.confidence, metadata, record.reinforced)
    return "relations", (record.key.source, record.key.target, record.key.kind), values


def _log_entry(key: RelationKey) -> tuple[str, str]:
    return key.source, f"{key.kind} {key.target}"
