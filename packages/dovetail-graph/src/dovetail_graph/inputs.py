"""The input types of the tools; clients see them as JSON Schema.

A list of tools is part of every conversation, so the schemas say little: text_limits checks names
and texts, and the tools bound numbers.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dovetail import Param

__all__ = [
    "HIDDEN",
    "MAX_CHARS",
    "AsOf",
    "Confidence",
    "Field",
    "NewEntity",
    "NewObservation",
    "NewObservations",
    "NewRelation",
    "ObservationDeletion",
    "RelationName",
    "Time",
    "bounded",
]

HIDDEN = Param(hidden=True)
# Default limit of an answer, in characters.
MAX_CHARS = 24_000

Confidence = Annotated[float, Meta(ge=0, le=1)]
Time = str | float
AsOf = Annotated[Time | None, "A time, or 'ever'."]
Field = Literal["observations", "details", "relations", "times"]


def bounded(value: int, least: int, most: int) -> int:
    """Return the number, or the nearest one that is allowed."""
    return max(least, min(value, most))


class _Request(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    pass


class NewObservation(_Request, kw_only=True):
    """`replaces`: the text or id of the observation that this corrects."""

    content: str
    replaces: str | None = None
    source: str | None = None
    confidence: Confidence | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None


class NewEntity(_Request, kw_only=True):
    """An entity."""

    name: str
    entity_type: str
    observations: list[str | NewObservation] = []
    replace_type: bool = False
    valid_from: Time | None = None
    valid_to: Time | None = None
    changed_by: str | None = None


class NewObservations(_Request, kw_only=True):
    """Observations of one entity."""

    entity_name: str
    contents: list[str | NewObservation]


class ObservationDeletion(_Request, kw_only=True):
    """Texts or ids."""

    entity_name: str
    observations: list[str]


_ENDS = {"source": "from", "target": "to", "relation_type": "relationType"}


class RelationName(msgspec.Struct, rename=_ENDS, kw_only=True, forbid_unknown_fields=True):
    """A relation."""

    source: str
    target: str
    relation_type: str


class NewRelation(
    msgspec.Struct,
    rename={**_ENDS, "valid_from": "validFrom", "valid_to": "validTo", "changed_by": "changedBy"},
    kw_only=True,
    forbid_unknown_fields=True,
):
    """A relation."""

    source: str
    target: str
    relation_type: str
    strength: Confidence | None = None
    confidence: Confidence | None = None
    metadata: dict[str, Any] | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    changed_by: str | None = None
