"""SQL fragments that several modules use: conditions for a view, lists of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dovetail_graph.timestamps import FOREVER, View

__all__ = ["in_chunks", "placeholders", "scanned_table", "view_condition"]

# SQLite allows more parameters, but long statements take longer to parse.
_CHUNK = 500


def view_condition(view: View, alias: str = "") -> tuple[str, tuple[int, ...]]:
    """Return the SQL condition for rows that hold at a view, and its parameters."""
    dot = f"{alias}." if alias else ""
    if view.valid is None:
        kept = "" if view.deleted else f" AND {dot}deleted = 0"
        return f"{dot}recorded_to = {FOREVER}{kept}", ()
    valid = f"{dot}valid_from <= ? AND {dot}valid_to > ?"
    if view.recorded is None:
        return f"{dot}recorded_to = {FOREVER} AND {valid}", (view.valid, view.valid)
    recorded = f"{dot}recorded_from <= ? AND {dot}recorded_to > ?"
    return f"{recorded} AND {valid}", (view.recorded,) * 2 + (view.valid,) * 2


def scanned_table(table: str, index: str, view: View) -> str:
    """Return the table for a full scan with a fixed index; SQLite would choose a slower one."""
    return f"{table} INDEXED BY {index}" if view.recorded is None else table


def in_chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split a list into parts that are short enough for one statement."""
    for start in range(0, len(names), _CHUNK):
        yield names[start : start + _CHUNK]


def placeholders(values: Sequence[Any]) -> str:
    """Return SQL placeholders, one per value."""
    return ", ".join("?" * len(values))
