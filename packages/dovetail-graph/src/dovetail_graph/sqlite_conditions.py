"""Pieces of SQL that several files use: which point of both times, lists of names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dovetail_graph.moments import FOREVER, View

__all__ = ["all_of", "at_view", "in_chunks", "marks"]

# SQLite takes more, but a list of names is also a text to be parsed.
_CHUNK = 500


def at_view(view: View, alias: str = "") -> tuple[str, tuple[int, ...]]:
    """The condition for what was true at a view, and its parameters."""
    dot = f"{alias}." if alias else ""
    valid = f"{dot}valid_from <= ? AND {dot}valid_to > ?"
    if view.recorded is None:
        return f"{dot}recorded_to = {FOREVER} AND {valid}", (view.valid, view.valid)
    recorded = f"{dot}recorded_from <= ? AND {dot}recorded_to > ?"
    return f"{recorded} AND {valid}", (view.recorded,) * 2 + (view.valid,) * 2


def all_of(table: str, index: str, view: View) -> str:
    """A table to go through as a whole: left to itself SQLite takes an index that holds less."""
    return f"{table} INDEXED BY {index}" if view.recorded is None else table


def in_chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Lists that are short enough for a statement."""
    for start in range(0, len(names), _CHUNK):
        yield names[start : start + _CHUNK]


def marks(values: Sequence[Any]) -> str:
    """A question mark for each."""
    return ", ".join("?" * len(values))
