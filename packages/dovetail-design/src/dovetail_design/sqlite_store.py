"""The store in one SQLite file.

The current state is stored in full; each version as its difference from the one before, with a
full state at intervals so that few differences have to be applied. Every transaction has its own
timestamp, later than all before it even if the clock goes back.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path

from dovetail_design.deltas import find_delta, pack
from dovetail_design.sqlite_file import SqliteFile
from dovetail_design.sqlite_reader import (
    ASSET,
    DESIGN,
    EXPORT,
    VERSION,
    SqliteReader,
    fold,
)
from dovetail_design.storage import (
    AssetRecord,
    DesignRecord,
    ExportRecord,
    State,
    VersionRecord,
)

__all__ = ["SqliteStore", "SqliteWriter"]

# The most differences that are applied to reach a version.
_WHOLE_EVERY = 50
# The list is written with each version, so it is limited.
_MOST_REDO = 200
_MOST_CHANGES = 10_000


class SqliteStore:
    """Stores designs in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Open a read transaction."""
        with self._file.reading() as database:
            yield SqliteReader(database)

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """Open a write transaction."""
        with self._file.writing() as database:
            writer = SqliteWriter(database)
            yield writer
            writer.finish()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class SqliteWriter(SqliteReader):
    """A change."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(database)
        (last,) = database.execute("SELECT stamp FROM clock").fetchone()
        self._now: int = max(time.time_ns() // 1000, last + 1)
        self._touched: list[str] = []

    def now(self) -> int:
        """The time of this change, later than all before."""
        return self._now

    def add_design(self, record: DesignRecord, state: State, by: str) -> DesignRecord:
        """Add a design at version 1."""
        made = replace(
            record,
            name=state["name"],
            description=state.get("description", ""),
            width=state["width"],
            height=state["height"],
            version=1,
            elements=len(state["elements"]),
            created=self._now,
            updated=self._now,
        )
        self._insert("designs", f"{DESIGN}, folded", (*_row(made), _folded(made)))
        packed = pack(state)
        self._insert("currents", "design, state", (made.id, packed))
        first = VersionRecord(1, self._now, "create", "", by, "", 1, 0, ())
        self._insert_version(made.id, first, None, packed)
        self._touched.append(made.id)
        return made

    def add_version(self, record: DesignRecord, state: State, version: VersionRecord) -> int:
        """Add a version and return its number; `number` and `at` are set by the store."""
        number = record.version + 1
        before = self.state(record.id)
        assert before is not None
        packed = pack(state)
        numbered = replace(
            version,
            number=number,
            at=self._now,
            stands_at=version.stands_at or number,
            redo=version.redo[:_MOST_REDO],
        )
        whole = packed if number % _WHOLE_EVERY == 0 else None
        self._insert_version(record.id, numbered, pack(find_delta(before, state)), whole)
        self.database.execute("UPDATE currents SET state = ? WHERE design = ?", (packed, record.id))
        changed = replace(
            record,
            name=state["name"],
            description=state.get("description", ""),
            width=state["width"],
            height=state["height"],
            elements=len(state["elements"]),
            version=number,
            updated=self._now,
        )
        self._update(changed)
        return number

    def set_label(self, id: str, number: int, label: str) -> None:
        """Set the label of a version."""
        self.database.execute(
            "UPDATE versions SET label = ? WHERE design = ? AND number = ?", (label, id, number)
        )
        self._touched.append(id)

    def describe(self, record: DesignRecord) -> None:
        """Update what is not part of a version: visibility, trash, template data."""
        self._update(replace(record, updated=self._now))

    def erase_design(self, id: str) -> list[str]:
        """Delete a design with its versions and exports; returns the digests of the exports."""
        found = self.database.execute("SELECT DISTINCT digest FROM exports WHERE design = ?", (id,))
        digests = [digest for (digest,) in found]
        for table, column in (
            ("designs", "id"),
            ("currents", "design"),
            ("versions", "design"),
            ("exports", "design"),
        ):
            self.database.execute(f"DELETE FROM {table} WHERE {column} = ?", (id,))
        self._touched.append(id)
        return digests

    def add_asset(self, record: AssetRecord) -> None:
        """Record an uploaded file; its content is already in the blob folder."""
        self._insert("assets", ASSET, astuple(record))
        self._touched.append("assets")

    def add_export(self, record: ExportRecord) -> None:
        """Record an exported file; its content is already in the blob folder."""
        self._insert("exports", EXPORT, astuple(record))

    def drop_exports(self, kept: int) -> list[str]:
        """Delete all but the newest exports; returns their digests."""
        old = self.database.execute(
            "SELECT id, digest FROM exports ORDER BY created DESC, id LIMIT -1 OFFSET ?", (kept,)
        ).fetchall()
        self.database.executemany("DELETE FROM exports WHERE id = ?", [(id,) for id, _ in old])
        return list(dict.fromkeys(digest for _, digest in old))

    def finish(self) -> None:
        """Write the clock and the change log before the commit."""
        self.database.execute("UPDATE clock SET stamp = ?", (self._now,))
        self.database.executemany(
            "INSERT INTO changes(design) VALUES(?)",
            [(id,) for id in dict.fromkeys(self._touched)],
        )
        last = self.last_change()
        if self._touched and last % _MOST_CHANGES < len(self._touched):
            # Followers poll several times a second, so older changes are not needed.
            self.database.execute("DELETE FROM changes WHERE sequence < ?", (last - _MOST_CHANGES,))

    def _update(self, record: DesignRecord) -> None:
        columns = ", ".join(f"{column} = ?" for column in f"{DESIGN}, folded".split(", "))
        self.database.execute(
            f"UPDATE designs SET {columns} WHERE id = ?",
            (*_row(record), _folded(record), record.id),
        )
        self._touched.append(record.id)

    def _insert_version(
        self, id: str, version: VersionRecord, delta: bytes | None, whole: bytes | None
    ) -> None:
        *rest, redo = astuple(version)
        self._insert(
            "versions",
            f"design, {VERSION}, delta, whole",
            (id, *rest, json.dumps(redo), delta, whole),
        )

    def _insert(self, table: str, columns: str, values: tuple[object, ...]) -> None:
        marks = ", ".join("?" * len(values))
        self.database.execute(f"INSERT INTO {table}({columns}) VALUES({marks})", values)


def _row(record: DesignRecord) -> tuple[object, ...]:
    return tuple(int(value) if isinstance(value, bool) else value for value in astuple(record))


def _folded(record: DesignRecord) -> str:
    return fold(f"{record.name}\n{record.description}")
