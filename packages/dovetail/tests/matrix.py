"""Tests that run on several transports or stores: which cases belong to which tier.

The fast tier runs each test in memory and at one more place, which the test's name chooses; the
same one on every machine. The deep tier runs the rest.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest

__all__ = ["is_matrix", "split"]

# Files and folders below packages/dovetail/tests.
_MATRICES = (
    "transcripts/test_transcripts.py",
    "interaction/",
    "unit/tasks/test_keeper.py",
    "unit/tasks/test_processes.py",
)
# Parameters that say where a test runs.
_PLACES = ("transport", "link", "combination", "store")
_FIRST = "memory"
# These start processes.
_DEEP = frozenset({"stdio", "cluster", "redis"})


def is_matrix(path: str) -> bool:
    """Whether the tests of a file, below `tests`, have cases for both tiers."""
    return path.startswith(_MATRICES)


def split(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The cases for the fast tier, and the rest."""
    cases: dict[str, list[tuple[str, pytest.Item]]] = defaultdict(list)
    fast: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in items:
        found = _find_place(item)
        if found is None:
            fast.append(item)
        else:
            name, place = found
            cases[name].append((place, item))
    for name, placed in cases.items():
        chosen = choose(name, sorted({place for place, _ in placed}))
        for place, item in placed:
            (fast if place in chosen else rest).append(item)
    return fast, rest


def choose(name: str, places: Sequence[str]) -> set[str]:
    """Memory, and one of the other places that need no process."""
    others = [place for place in places if place != _FIRST and place not in _DEEP]
    chosen = {_FIRST}.intersection(places)
    if others:
        chosen.add(others[zlib.crc32(name.encode()) % len(others)])
    return chosen


def _find_place(item: pytest.Item) -> tuple[str, str] | None:
    """The name of a test without its place, and the place."""
    spec = getattr(item, "callspec", None)
    parameter = next((key for key in _PLACES if spec and key in spec.params), None)
    if spec is None or parameter is None:
        return None
    value = spec.params[parameter]
    place = value if isinstance(value, str) else value.transport.name
    others = [
        each if isinstance(each, str) else _name(each) or str(spec.indices[key])
        for key, each in spec.params.items()
        if key != parameter
    ]
    return "-".join([item.nodeid.partition("[")[0], *others]), place


def _name(value: object) -> str:
    """The name of a transcript, the date of a revision."""
    return str(getattr(value, "name", None) or getattr(value, "date", None) or "")
