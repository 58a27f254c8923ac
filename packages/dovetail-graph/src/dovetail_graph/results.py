"""What the tools answer, as types; their schemas are what clients are told."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "BatchResult",
    "ChangeList",
    "ChangeView",
    "Embedding",
    "EntityHistory",
    "EntityVersion",
    "EntityView",
    "GraphPage",
    "Hit",
    "MergeResult",
    "Missing",
    "NodesFound",
    "ObservationView",
    "Opened",
    "Outcome",
    "RelationFound",
    "RelationHistory",
    "RelationVersion",
    "RelationView",
    "SemanticResult",
    "Similar",
    "SpanView",
    "Stats",
    "Transferred",
    "Traversal",
    "Visited",
]


class _Result(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    pass


class ObservationView(_Result, kw_only=True):
    """An observation with its times."""

    id: str
    content: str
    source: str | None = None
    confidence: float | None = None
    # What decay has left of the confidence.
    current_confidence: float | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    recorded_at: str | None = None
    changed_by: str | None = None


class EntityView(_Result, kw_only=True):
    """An entity."""

    name: str
    entity_type: str
    observations: list[str] | None = None
    details: list[ObservationView] | None = None
    # Observations that this answer leaves out.
    more_observations: int = 0
    aliases: list[str] | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    recorded_at: str | None = None
    changed_by: str | None = None


_ENDS = {
    "source": "from",
    "target": "to",
    "relation_type": "relationType",
    "original_confidence": "originalConfidence",
    "valid_from": "validFrom",
    "valid_to": "validTo",
    "recorded_at": "recordedAt",
    "recorded_until": "recordedUntil",
    "reinforced_at": "reinforcedAt",
    "changed_by": "changedBy",
    "current_confidence": "currentConfidence",
}


class RelationView(msgspec.Struct, rename=_ENDS, kw_only=True, omit_defaults=True):
    """A relation."""

    source: str
    target: str
    relation_type: str
    strength: float
    confidence: float
    # Where confidence is a decayed one: what was recorded.
    original_confidence: float | None = None
    current_confidence: float | None = None
    metadata: dict[str, Any] | None = None
    reinforced_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    recorded_at: str | None = None
    changed_by: str | None = None


class Outcome(_Result, kw_only=True):
    """What became of one item of a batch."""

    name: str
    outcome: Literal["created", "updated", "unchanged", "deleted", "purged", "rejected"]
    reason: str | None = None
    added: list[str] | None = None
    # How many observations were added or deleted.
    count: int | None = None


class BatchResult(_Result, kw_only=True):
    """What became of a batch; rejected items come first."""

    created: int
    updated: int
    unchanged: int
    deleted: int
    purged: int
    rejected: int
    items: list[Outcome]
    # Items that went well and are not listed.
    not_listed: int = 0
    recorded_at: str | None = None


class GraphPage(_Result, kw_only=True):
    """A page of the graph; `relations` are those that leave the entities of this page."""

    entities: list[EntityView]
    relations: list[RelationView]
    # Entities in all.
    total: int
    has_more: bool
    next_cursor: str | None = None
    # Relations of these entities that did not fit.
    relations_left_out: int = 0
    # The moments of this view.
    valid_at: str | None = None
    recorded_at: str | None = None
    half_life_days: float | None = None


class Hit(_Result, kw_only=True):
    """An entity that was found."""

    entity: EntityView
    score: float


class NodesFound(_Result, kw_only=True):
    """Entities that match, the best first, and the relations between them."""

    results: list[Hit]
    relations: list[RelationView]
    # Counting stops at 200 for a first page without filters, else at 1,000.
    count: int
    has_more: bool
    next_cursor: str | None = None
    # all: every word occurs; any: no entity has all of them, so these have some.
    matched: Literal["all", "any", "prefix", "fuzzy", "exact"]


class Missing(_Result, kw_only=True):
    """A name that is not there, and names like it."""

    name: str
    did_you_mean: list[str]


class Opened(_Result, kw_only=True):
    """Entities by name."""

    entities: list[EntityView]
    relations: list[RelationView]
    found: int
    missing: list[Missing]
    # Entities that did not fit; open them by name.
    left_out: list[str]
    relations_left_out: int = 0


class Similar(_Result, kw_only=True):
    """An entity that is like the query."""

    entity: EntityView
    score: float
    similarity: float | None = None
    keyword_score: float | None = None
    matched_observation: str | None = None
    explanation: str | None = None


class SemanticResult(_Result, kw_only=True):
    """Entities that are like the query, the best first."""

    results: list[Similar]
    count: int
    # semantic: a model compared meanings. lexical: words and spelling were compared.
    mode: Literal["semantic", "lexical"]
    model: str | None = None
    min_similarity: float
    # Entities whose vector is not made yet; they are found by words only.
    not_embedded: int = 0


class Embedding(_Result, kw_only=True):
    """The vector of an entity."""

    entity_name: str
    embedding: list[float]
    model: str
    kind: str
    dimensions: int


class SpanView(_Result, kw_only=True):
    """A span of valid time."""

    valid_from: str | None = None
    valid_to: str | None = None
    entity_type: str


class EntityVersion(_Result, kw_only=True):
    """What the record said of an entity, from one change to the next."""

    version: int
    recorded_at: str | None
    recorded_until: str | None = None
    # Whether it was there at the moment of this change.
    present: bool
    entity_type: str | None = None
    observations: list[str]
    more_observations: int = 0
    spans: list[SpanView]
    changed_by: str | None = None


class EntityHistory(_Result, kw_only=True):
    """Versions of an entity, the newest first."""

    entity_name: str
    history: list[EntityVersion]
    total_versions: int
    has_more: bool
    next_cursor: str | None = None


class RelationVersion(msgspec.Struct, rename=_ENDS, kw_only=True, omit_defaults=True):
    """A version of a relation: what it was, when true, when recorded."""

    version: int
    strength: float
    confidence: float
    metadata: dict[str, Any] | None = None
    reinforced_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    recorded_at: str | None = None
    recorded_until: str | None = None
    changed_by: str | None = None


class RelationHistory(
    msgspec.Struct,
    rename={
        **_ENDS,
        "total_versions": "totalVersions",
        "has_more": "hasMore",
        "next_cursor": "nextCursor",
    },
    kw_only=True,
    omit_defaults=True,
):
    """Versions of a relation, the newest first."""

    source: str
    target: str
    relation_type: str
    history: list[RelationVersion]
    total_versions: int
    has_more: bool
    next_cursor: str | None = None


class RelationFound(_Result, kw_only=True):
    """A relation, if it is there."""

    found: bool
    relation: RelationView | None = None


class Visited(_Result, kw_only=True):
    """An entity that was reached."""

    name: str
    entity_type: str
    distance: int


class Traversal(_Result, kw_only=True):
    """What can be reached, and how."""

    nodes: list[Visited]
    edges: list[RelationView]
    paths: list[list[str]]
    # There is more than `limit` or the size of an answer let through.
    truncated: bool = False


class ChangeView(_Result, kw_only=True):
    """A change."""

    sequence: int
    at: str | None
    kind: str
    action: str
    name: str
    detail: str | None = None
    changed_by: str | None = None


class ChangeList(_Result, kw_only=True):
    """Changes, the newest first."""

    changes: list[ChangeView]
    has_more: bool
    next_cursor: str | None = None


class MergeResult(_Result, kw_only=True):
    """What a merge did, or would do."""

    into: str
    merged: list[str]
    # The entity was not there before: this is a renaming.
    created: bool
    observations_moved: int
    relations_moved: int
    # Relations that would lead from the entity to itself.
    relations_dropped: int
    aliases: list[str]
    dry_run: bool


class Stats(_Result, kw_only=True):
    """Numbers of the graph."""

    namespace: str
    entities: int
    relations: int
    entity_types: dict[str, int]
    relation_types: dict[str, int]
    most_connected: dict[str, int]
    # Relations whose confidence has decayed to less than 0.3, of the first thousand entities.
    low_confidence: list[str]
    likely_duplicates: list[list[str]]
    last_change: str | None = None
    embeddings: str


class Transferred(_Result, kw_only=True):
    """What was exported or imported."""

    action: Literal["export", "import"]
    format: str
    entities: int
    relations: int
    observations: int
    rejected: int
    # Why the first rejected lines were.
    reasons: list[str] = []
    data: str | None = None
    saved_to: str | None = None
