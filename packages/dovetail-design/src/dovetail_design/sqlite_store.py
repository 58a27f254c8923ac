"""The store in one SQLite file.

The state of now is kept whole; each version as its difference to the one before, with a whole
state now and then so that none is far from one. Every transaction has a moment of its own, later
than all before it whatever the clock says.
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

# So many differences are applied at most to reach a version.
_WHOLE_EVERY = 50
# Further steps of redo than anybody takes; the list is written with each version.
_MOST_REDO = 200
_MOST_CHANGES = 10_000


class SqliteStore:
    """Designs in one file."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteFile(path)

    @contextlib.contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Look at one whole state."""
        with self._file.reading() as database:
            yield SqliteReader(database)

    @contextlib.contextmanager
    def writing(self) -> Iterator[SqliteWriter]:
        """Change it, all or nothing."""
        with self._file.writing() as database:
            writer = SqliteWriter(database)
            yield writer
            writer.finish()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class SqliteWriter(SqliteReader):
    """A change."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(database)
        (last,) = database.execute("SELECT stamp FROM clock").fetchone()
        self._now: int = max(time.time_ns() // 1000, last + 1)
        self._touched: list[str] = []

    def now(self) -> int:
        """The moment of this change, after all before."""
        return self._now

    def add_design(self, record: DesignRecord, state: State, by: str) -> DesignRecord:
        """A new design at version 1."""
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
        """A new version; its number. `version.number`, `at` are set by the store."""
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
        """Name a version."""
        self.database.execute(
            "UPDATE versions SET label = ? WHERE design = ? AND number = ?", (label, id, number)
        )
        self._touched.append(id)

    def describe(self, record: DesignRecord) -> None:
        """Visibility, trash and what makes a template: what is no part of a version."""
        self._update(replace(record, updated=self._now))

    def erase_design(self, id: str) -> list[str]:
        """A design with all its versions and exports, for good; the contents the exports had."""
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
        """An uploaded file; its content is in the blob folder already."""
        self._insert("assets", ASSET, astuple(record))
        self._touched.append("assets")

    def add_export(self, record: ExportRecord) -> None:
        """A file made of a design; its content is in the blob folder already."""
        self._insert("exports", EXPORT, astuple(record))

    def drop_exports(self, kept: int) -> list[str]:
        """All but the newest so many; the contents they had."""
        old = self.database.execute(
            "SELECT id, digest FROM exports ORDER BY created DESC, id LIMIT -1 OFFSET ?", (kept,)
        ).fetchall()
        self.database.executemany("DELETE FROM exports WHERE id = ?", [(id,) for id, _ in old])
        return list(dict.fromkeys(digest for _, digest in old))

    def finish(self) -> None:
        """Before the commit: the clock, and what others are to be told."""
        self.database.execute("UPDATE clock SET stamp = ?", (self._now,))
        self.database.executemany(
            "INSERT INTO changes(design) VALUES(?)",
            [(id,) for id in dict.fromkeys(self._touched)],
        )
        last = self.last_change()
        if self._touched and last % _MOST_CHANGES < len(self._touched):
            # Whoever follows looks several times a second; what is older nobody asks for.
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
