"""The input types of the tools; clients see them as JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "VISIBLE",
    "AsOf",
    "ChangedBy",
    "Confidence",
    "Content",
    "Cursor",
    "EntityType",
    "Field",
    "Limit",
    "MaxChars",
    "MaxObservations",
    "Name",
    "NewEntity",
    "NewObservation",
    "NewObservations",
    "NewRelation",
    "ObservationDeletion",
    "RelationName",
    "RelationType",
    "Time",
]

# Whitespace that str.strip removes, except control characters. Not \s: dialects of regular
# expressions differ in its meaning.
_BLANK = r" \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPACE = rf"{_BLANK}\t-\r\x1c-\x1f"
# Any characters except control characters, and not only whitespace. The first part matches only
# whitespace, so that matching takes linear time.
VISIBLE = rf"^[{_BLANK}]*[^{_BLANK}\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=VISIBLE)]
EntityType = Annotated[str, Meta(min_length=1, max_length=100, pattern=VISIBLE)]
RelationType = EntityType
Content = Annotated[
    str, Meta(min_length=1, max_length=5000, pattern=rf"^[{_SPACE}]*[^{_SPACE}\x00][^\x00]*$")
]
Confidence = Annotated[float, Meta(ge=0, le=1)]
Time = Annotated[
    str | float,
    Meta(description="ISO 8601 (UTC if without offset), milliseconds since 1970, or 'now'."),
]
AsOf = Annotated[Time | None, "Read the graph as it was at this time; 'ever': at any."]
ChangedBy = Annotated[Annotated[str, Meta(max_length=200)] | None, "Author of the change."]
Cursor = Annotated[Annotated[str, Meta(max_length=2000)] | None, "nextCursor of the previous page."]
Limit = Annotated[int, Meta(ge=1, le=500)]
MaxChars = Annotated[
    int,
    Meta(ge=1000, le=1_000_000, description="Maximum size of the result in characters of JSON."),
]
MaxObservations = Annotated[
    int, Meta(ge=0, le=1000, description="Maximum number of observations per entity.")
]
Field = Literal["observations", "details", "relations", "times"]


class _Request(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    pass


class NewObservation(_Request, kw_only=True):
    """An observation with its source, confidence and period of validity."""

    content: Content
    replaces: Annotated[Content | None, Meta(description="Text or id to correct.")] = None
    source: Annotated[str, Meta(max_length=500)] | None = None
    confidence: Confidence | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None


class NewEntity(_Request, kw_only=True):
    """An entity to create."""

    name: Name
    entity_type: EntityType
    observations: Annotated[list[Content | NewObservation], Meta(max_length=1000)] = []
    replace_type: bool = False
    valid_from: Time | None = None
    valid_to: Time | None = None
    changed_by: ChangedBy = None


class NewObservations(_Request, kw_only=True):
    """Observations to add to one entity."""

    entity_name: Name
    contents: Annotated[list[Content | NewObservation], Meta(min_length=1, max_length=1000)]


class ObservationDeletion(_Request, kw_only=True):
    """Observations to delete from one entity, by their text or id."""

    entity_name: Name
    observations: Annotated[list[Content], Meta(min_length=1, max_length=1000)]


_ENDS = {"source": "from", "target": "to", "relation_type": "relationType"}


class RelationName(msgspec.Struct, rename=_ENDS, kw_only=True, forbid_unknown_fields=True):
    """A relation, identified by its entities and type."""

    source: Name
    target: Name
    relation_type: RelationType


class NewRelation(
    msgspec.Struct,
    rename={**_ENDS, "valid_from": "validFrom", "valid_to": "validTo", "changed_by": "changedBy"},
    kw_only=True,
    forbid_unknown_fields=True,
):
    """A relation to create or update."""

    source: Name
    target: Name
    relation_type: RelationType
    strength: Confidence | None = None
    confidence: Confidence | None = None
    metadata: dict[str, Any] | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    changed_by: ChangedBy = None
