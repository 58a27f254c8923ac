"""Reads from the SQLite file."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from typing import Any

from dovetail_design.deltas import apply_delta, unpack
from dovetail_design.storage import (
    AssetQuery,
    AssetRecord,
    DesignQuery,
    DesignRecord,
    ExportRecord,
    Page,
    State,
    VersionRecord,
)

__all__ = ["ASSET", "DESIGN", "EXPORT", "VERSION", "SqliteReader", "fold"]

# Columns, in the order of the fields of the records.
DESIGN = (
    "id, name, description, visibility, owner, width, height, version, elements, created, updated, "
    "deleted, is_template, category, slots"
)
VERSION = "number, at, action, detail, by, label, stands_at, undo_to, redo"
ASSET = "id, name, kind, mime_type, size, digest, owner, created, width, height"
EXPORT = "id, design, version, name, mime_type, size, digest, created, owner"


def fold(text: str) -> str:
    """Normalise text to compare it without case and accent forms."""
    return unicodedata.normalize("NFC", text).casefold()


class SqliteReader:
    """A snapshot of the file."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    def design(self, id: str) -> DesignRecord | None:
        """Return a design, including one in the trash."""
        row = self._one(f"SELECT {DESIGN} FROM designs WHERE id = ?", (id,))
        return None if row is None else _design(row)

    def designs(self, query: DesignQuery) -> Page:
        """DesignRecords."""
        where, given = _conditions(query)
        (total,) = self._one(f"SELECT count(*) FROM designs WHERE {where}", given) or (0,)
        rows = self.database.execute(
            f"SELECT {DESIGN} FROM designs WHERE {where} "
            "ORDER BY updated DESC, id LIMIT ? OFFSET ?",
            (*given, query.limit, query.skip),
        )
        return Page([_design(row) for row in rows], total)

    def ids_starting_with(self, prefix: str, viewer: str | None, limit: int) -> list[str]:
        """Return ids of designs, for completion."""
        rows = self.database.execute(
            "SELECT id FROM designs WHERE id >= ? AND id < ? AND deleted = 0 "
            "AND (? IS NULL OR owner = ? OR visibility = 'PUBLIC') ORDER BY id LIMIT ?",
            (prefix, prefix + "\U0010ffff", viewer, viewer, limit),
        )
        return [id for (id,) in rows]

    def state(self, id: str, version: int | None = None) -> State | None:
        """Return the current state of a design, or that of a version."""
        if version is None:
            row = self._one("SELECT state FROM currents WHERE design = ?", (id,))
            return None if row is None else unpack(row[0])
        row = self._one(
            "SELECT max(number) FROM versions WHERE design = ? AND number <= ? "
            "AND whole IS NOT NULL",
            (id, version),
        )
        if row is None or row[0] is None:
            return None
        rows = self.database.execute(
            "SELECT number, delta, whole FROM versions WHERE design = ? AND number BETWEEN ? AND ? "
            "ORDER BY number",
            (id, row[0], version),
        ).fetchall()
        if rows[-1][0] != version:
            return None
        state: State = unpack(rows[0][2])
        for _, delta, _ in rows[1:]:
            state = apply_delta(state, unpack(delta))
        return state

    def versions(self, id: str, before: int | None = None, limit: int = 50) -> list[VersionRecord]:
        """Return versions, newest first."""
        rows = self.database.execute(
            f"SELECT {VERSION} FROM versions WHERE design = ? AND (? IS NULL OR number < ?) "
            "ORDER BY number DESC LIMIT ?",
            (id, before, before, limit),
        )
        return [_version(row) for row in rows]

    def version(self, id: str, number: int) -> VersionRecord | None:
        """One version."""
        row = self._one(
            f"SELECT {VERSION} FROM versions WHERE design = ? AND number = ?", (id, number)
        )
        return None if row is None else _version(row)

    def labelled(self, id: str, label: str) -> VersionRecord | None:
        """Return the newest version with this label."""
        row = self._one(
            f"SELECT {VERSION} FROM versions WHERE design = ? AND label = ? AND label != '' "
            "ORDER BY number DESC LIMIT 1",
            (id, label),
        )
        return None if row is None else _version(row)

    def asset(self, id: str) -> AssetRecord | None:
        """An asset."""
        row = self._one(f"SELECT {ASSET} FROM assets WHERE id = ?", (id,))
        return None if row is None else AssetRecord(*row)

    def assets(self, query: AssetQuery) -> Page:
        """AssetRecords."""
        where = "(? IS NULL OR owner = ?) AND (? = '' OR kind = ?)"
        given = (query.viewer, query.viewer, query.kind, query.kind)
        (total,) = self._one(f"SELECT count(*) FROM assets WHERE {where}", given) or (0,)
        rows = self.database.execute(
            f"SELECT {ASSET} FROM assets WHERE {where} ORDER BY created DESC, id LIMIT ? OFFSET ?",
            (*given, query.limit, query.skip),
        )
        return Page([AssetRecord(*row) for row in rows], total)

    def export(self, id: str) -> ExportRecord | None:
        """Return an exported file."""
        row = self._one(f"SELECT {EXPORT} FROM exports WHERE id = ?", (id,))
        return None if row is None else ExportRecord(*row)

    def is_blob_used(self, digest: str) -> bool:
        """Return whether an asset or an export has this content."""
        return (
            self._one(
                "SELECT 1 FROM assets WHERE digest = ? UNION ALL "
                "SELECT 1 FROM exports WHERE digest = ? LIMIT 1",
                (digest, digest),
            )
            is not None
        )

    def asset_bytes(self) -> int:
        """Return the total size of all assets."""
        row = self._one("SELECT coalesce(sum(size), 0) FROM assets", ())
        return int(row[0])

    def last_change(self) -> int:
        """Return the number of the last change."""
        row = self._one("SELECT max(sequence) FROM changes", ())
        return int(row[0] or 0) if row else 0

    def changed_since(self, sequence: int, limit: int) -> list[tuple[int, str]]:
        """Return later changes: their number and the design's id, or "assets"."""
        return self.database.execute(
            "SELECT sequence, design FROM changes WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (sequence, limit),
        ).fetchall()

    def _one(self, statement: str, given: tuple[Any, ...]) -> Any:
        return self.database.execute(statement, given).fetchone()


def _conditions(query: DesignQuery) -> tuple[str, tuple[Any, ...]]:
    parts = ["is_template = ?", "(deleted > 0) = ?"]
    given: list[Any] = [int(query.is_template), int(query.in_trash)]
    if query.viewer is not None:
        # Only the owner sees designs in the trash.
        parts.append("owner = ?" if query.in_trash else "(owner = ? OR visibility = 'PUBLIC')")
        given.append(query.viewer)
    for word in fold(query.search).split():
        parts.append("instr(folded, ?) > 0")
        given.append(word)
    if query.category:
        parts.append("category = ?")
        given.append(fold(query.category))
    return " AND ".join(parts), tuple(given)


def _design(row: Any) -> DesignRecord:
    values = dict(zip(DESIGN.split(", "), row, strict=True))
    return DesignRecord(**{**values, "is_template": bool(values["is_template"])})


def _version(row: Any) -> VersionRecord:
    values = dict(zip(VERSION.split(", "), row, strict=True))
    return VersionRecord(**{**values, "redo": tuple(json.loads(values["redo"]))})
