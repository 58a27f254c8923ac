"""The records of a store: entities, observations and relations, with their times.

`deleted` marks what is left of a deleted fact: the time until the deletion. It is true at that
time as before, but reading any time leaves it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from dovetail_graph.timestamps import Span

__all__ = [
    "Change",
    "EntityRecord",
    "ObservationRecord",
    "Record",
    "RelationKey",
    "RelationRecord",
    "Times",
    "join_periods",
    "observation_id",
]


_ALWAYS = Span()


@dataclass(frozen=True, slots=True)
class Times:
    """When a fact was true, and when it was on record."""

    valid: Span = _ALWAYS
    recorded: Span = _ALWAYS


_UNTIMED = Times()


@dataclass(frozen=True, slots=True)
class EntityRecord:
    """An entity without its observations."""

    name: str
    kind: str
    changed_by: str | None = None
    times: Times = _UNTIMED
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ObservationRecord:
    """One observation of an entity."""

    entity: str
    content: str
    source: str | None = None
    confidence: float | None = None
    reinforced: int = 0
    changed_by: str | None = None
    times: Times = _UNTIMED
    deleted: bool = False

    @property
    def id(self) -> str:
        """Identifies the observation within its entity; a merge does not change it."""
        return observation_id(self.content)


@dataclass(frozen=True, slots=True, order=True)
class RelationKey:
    """The identity of a relation."""

    source: str
    target: str
    kind: str


@dataclass(frozen=True, slots=True)
class RelationRecord:
    """A relation between two entities."""

    key: RelationKey
    strength: float
    confidence: float
    metadata: dict[str, Any] = field(default_factory=dict)
    reinforced: int = 0
    changed_by: str | None = None
    times: Times = _UNTIMED
    deleted: bool = False


Record = EntityRecord | ObservationRecord | RelationRecord
_Record = TypeVar("_Record", EntityRecord, ObservationRecord, RelationRecord)


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the change log."""

    sequence: int
    at: int
    kind: str
    action: str
    name: str
    detail: str = ""
    changed_by: str | None = None


def join_periods(rows: Iterable[_Record], fact_of: Callable[[_Record], Any]) -> list[_Record]:
    """Join versions that follow each other without a gap; the latest says what they say."""
    latest: dict[Any, int] = {}
    found: list[_Record] = []
    for row in sorted(rows, key=lambda row: row.times.valid.start):
        fact, valid = (fact_of(row), row.deleted), row.times.valid
        at = latest.get(fact)
        if at is not None and found[at].times.valid.end == valid.start:
            whole = Span(found[at].times.valid.start, valid.end)
            found[at] = replace(row, times=replace(row.times, valid=whole))
        else:
            latest[fact] = len(found)
            found.append(row)
    return found


def observation_id(content: str) -> str:
    """Return the id of an observation: a short hash of its content."""
    return "o-" + hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
