"""The records of a store: entities, observations and relations, with their times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from dovetail_graph.timestamps import Span

__all__ = [
    "Change",
    "EntityRecord",
    "ObservationRecord",
    "RelationKey",
    "RelationRecord",
    "Times",
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


def observation_id(content: str) -> str:
    """Return the id of an observation: a short hash of its content."""
    return "o-" + hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
