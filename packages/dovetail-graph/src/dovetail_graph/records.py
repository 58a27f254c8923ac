"""What a store keeps: entities, observations and relations, each with its times."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from dovetail_graph.moments import Span

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
    """When it was true, and when the record said so."""

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
    """One statement on an entity."""

    entity: str
    content: str
    source: str | None = None
    confidence: float | None = None
    reinforced: int = 0
    changed_by: str | None = None
    times: Times = _UNTIMED

    @property
    def id(self) -> str:
        """Names it within its entity, also after a merge."""
        return observation_id(self.content)


@dataclass(frozen=True, slots=True, order=True)
class RelationKey:
    """What makes two recordings one relation."""

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
    """One line of the log."""

    sequence: int
    at: int
    kind: str
    action: str
    name: str
    detail: str = ""
    changed_by: str | None = None


def observation_id(content: str) -> str:
    """A short name for a statement."""
    return "o-" + hashlib.blake2b(content.encode(), digest_size=6).hexdigest()
