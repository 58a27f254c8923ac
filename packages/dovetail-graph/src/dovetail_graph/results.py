"""The result types of the tools; clients see them as JSON Schema."""

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
    "Status",
    "Transferred",
    "Traversal",
    "Visited",
]


class _Result(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    pass


# Why a fact is not true now.
Status = Literal["ended", "upcoming", "deleted"]


class ObservationView(_Result, kw_only=True):
    """An observation with its times."""

    id: str | None = None
    content: str
    status: Status | None = None
    source: str | None = None
    confidence: float | None = None
    # The confidence after decay.
    current_confidence: float | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    # Left out here and in other views if it is valid_from.
    recorded_at: str | None = None
    changed_by: str | None = None


class EntityView(_Result, kw_only=True):
    """An entity."""

    name: str
    entity_type: str
    status: Status | None = None
    observations: list[str] | None = None
    # Observations that are not true now.
    other_times: list[ObservationView] | None = None
    details: list[ObservationView] | None = None
    # Number of observations that this result leaves out.
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
    status: Status | None = None
    strength: float
    confidence: float
    # The recorded confidence, if `confidence` is the decayed one.
    original_confidence: float | None = None
    current_confidence: float | None = None
    metadata: dict[str, Any] | None = None
    reinforced_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    recorded_at: str | None = None
    changed_by: str | None = None


class Outcome(_Result, kw_only=True):
    """The outcome of one item of a batch."""

    name: str
    outcome: Literal["created", "updated", "unchanged", "deleted", "purged", "rejected"]
    reason: str | None = None
    added: list[str] | None = None
    # Texts to delete that the entity does not have.
    not_found: list[str] | None = None
    # Number of observations added or deleted.
    count: int | None = None


class BatchResult(_Result, kw_only=True):
    """The outcome of a batch; rejected items come first."""

    created: int
    updated: int
    unchanged: int
    deleted: int
    purged: int
    rejected: int
    items: list[Outcome]
    # Number of successful items that are not listed.
    not_listed: int = 0
    recorded_at: str | None = None


class GraphPage(_Result, kw_only=True):
    """A page of the graph; `relations` are the outgoing relations of the entities on this page."""

    entities: list[EntityView]
    relations: list[RelationView]
    # Number of all entities.
    total: int
    has_more: bool
    next_cursor: str | None = None
    # Number of relations of these entities that did not fit.
    relations_left_out: int = 0
    # The valid and recorded time of this view.
    valid_at: str | None = None
    recorded_at: str | None = None
    half_life_days: float | None = None


class Hit(_Result, kw_only=True):
    """An entity that matches."""

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
    # all: every word occurs; any: no entity has all words, so these have some.
    matched: Literal["all", "any", "prefix", "fuzzy", "exact"]


class Missing(_Result, kw_only=True):
    """A name that does not exist, and similar names."""

    name: str
    did_you_mean: list[str]


class Opened(_Result, kw_only=True):
    """Entities by name."""

    entities: list[EntityView]
    relations: list[RelationView]
    found: int
    missing: list[Missing]
    # Number of missing names that did not fit.
    missing_left_out: int = 0
    # Names of entities that did not fit; open them in another call.
    left_out: list[str]
    relations_left_out: int = 0


class Similar(_Result, kw_only=True):
    """An entity that is similar to the query."""

    entity: EntityView
    score: float
    similarity: float | None = None
    keyword_score: float | None = None
    matched_observation: str | None = None
    matched_status: Status | None = None
    explanation: str | None = None


class SemanticResult(_Result, kw_only=True):
    """Entities that are similar to the query, the best first."""

    results: list[Similar]
    count: int
    # Number of results that did not fit.
    left_out: int = 0
    # semantic: a model compared meanings; lexical: words and spelling were compared.
    mode: Literal["semantic", "lexical"]
    model: str | None = None
    min_similarity: float
    # Number of entities without vectors yet; they are found by words only.
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
    """The record of an entity, from one change to the next."""

    version: int
    recorded_at: str | None
    recorded_until: str | None = None
    # Whether the entity existed at the time of this change.
    present: bool
    entity_type: str | None = None
    # True at the time of this change, and at other times.
    observations: list[str]
    other_times: list[ObservationView] | None = None
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
    """A version of a relation, with its valid and recorded time."""

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
    """A relation, if it exists."""

    found: bool
    relation: RelationView | None = None


class Visited(_Result, kw_only=True):
    """An entity that was reached."""

    name: str
    entity_type: str
    distance: int


class Traversal(_Result, kw_only=True):
    """Entities that can be reached, and the relations between them."""

    nodes: list[Visited]
    edges: list[RelationView]
    paths: list[list[str]]
    # Says so if there is no path.
    note: str | None = None
    # Whether `limit` or the size limit left something out.
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
    """The effect of a merge, or of a dry run."""

    into: str
    merged: list[str]
    # Whether the target is new, so that this is a rename.
    created: bool
    observations_moved: int
    relations_moved: int
    # Number of relations between merged entities; they would lead from the entity to itself.
    relations_dropped: int
    aliases: list[str]
    # Number of names in these lists that did not fit.
    not_listed: int = 0
    dry_run: bool


class Stats(_Result, kw_only=True):
    """Statistics of the graph."""

    namespace: str
    entities: int
    relations: int
    entity_types: dict[str, int]
    relation_types: dict[str, int]
    most_connected: dict[str, int]
    # Relations whose confidence has decayed below 0.3, among the first thousand entities.
    low_confidence: list[str]
    likely_duplicates: list[list[str]]
    last_change: str | None = None
    changes: list[ChangeView] | None = None
    embeddings: str


class Transferred(_Result, kw_only=True):
    """The result of an export or import."""

    action: Literal["export", "import"]
    format: str
    entities: int
    relations: int
    observations: int
    rejected: int
    # Reasons for the first rejected items.
    reasons: list[str] = []
    # Facts that the format, or an import into a graph with content, leaves out: those of other
    # times, deleted ones, earlier versions.
    left_out: int = 0
    data: str | None = None
    saved_to: str | None = None
