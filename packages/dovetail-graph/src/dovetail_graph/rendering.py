"""Records as answers: names first, then as much detail as the size of an answer allows."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from dovetail import ToolError
from dovetail_graph.decay import Decay
from dovetail_graph.moments import View, show_moment
from dovetail_graph.records import EntityRecord, ObservationRecord, RelationRecord
from dovetail_graph.results import EntityView, ObservationView, RelationView
from dovetail_graph.storage import Reader
from dovetail_serverkit.budget import Budget

__all__ = [
    "MAX_CHARS",
    "Detail",
    "Shown",
    "read_cursor",
    "show",
    "show_relation",
    "show_relations",
    "with_decay",
    "write_cursor",
]

# The bound of an answer unless told otherwise.
MAX_CHARS = 18_000


@dataclass(frozen=True, slots=True)
class Detail:
    """How much is shown of each entity."""

    fields: frozenset[str] = frozenset({"observations", "relations"})
    max_observations: int = 10
    # Where given: relations and observations show what decay has left at that moment.
    decay: Decay | None = None
    decayed_at: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """What fits into the answer."""

    entities: list[EntityView]
    relations: list[RelationView]
    relations_left_out: int


def show(
    reader: Reader,
    view: View,
    entities: Sequence[EntityRecord],
    detail: Detail,
    budget: Budget,
) -> Shown:
    """As many of the entities as fit, in order, and the relations that leave them."""
    views: list[EntityView] = []
    for start in range(0, len(entities), 50):
        some = entities[start : start + 50]
        known: dict[str, list[ObservationRecord]] = {}
        if {"observations", "details"} & detail.fields:
            for one in reader.observations([entity.name for entity in some], view):
                known.setdefault(one.entity, []).append(one)
        for entity in some:
            shown = _show_entity(entity, known.get(entity.name, []), detail, budget)
            if shown is None:
                return _with_relations(reader, view, views, detail, budget)
            views.append(shown)
    return _with_relations(reader, view, views, detail, budget)


def _show_entity(
    entity: EntityRecord, known: list[ObservationRecord], detail: Detail, budget: Budget
) -> EntityView | None:
    """The entity with as many observations as fit; None if not even its name does."""
    count = min(len(known), detail.max_observations)
    while True:
        view = EntityView(
            name=entity.name,
            entity_type=entity.kind,
            more_observations=len(known) - count if known else 0,
        )
        if "observations" in detail.fields and "details" not in detail.fields:
            view.observations = [one.content for one in known[:count]]
        if "details" in detail.fields:
            view.details = [_show_observation(one, detail) for one in known[:count]]
        if "times" in detail.fields:
            view.valid_from = show_moment(entity.times.valid.start)
            view.valid_to = show_moment(entity.times.valid.end)
            view.recorded_at = show_moment(entity.times.recorded.start)
            view.changed_by = entity.changed_by
        if budget.take(view):
            return view
        if count == 0:
            return None
        count //= 2


def _show_observation(one: ObservationRecord, detail: Detail) -> ObservationView:
    left = None
    if detail.decay is not None and one.confidence is not None:
        left = round(detail.decay.apply(one.confidence, one.reinforced, detail.decayed_at), 6)
    return ObservationView(
        id=one.id,
        content=one.content,
        source=one.source,
        confidence=one.confidence,
        current_confidence=left,
        valid_from=show_moment(one.times.valid.start),
        valid_to=show_moment(one.times.valid.end),
        recorded_at=show_moment(one.times.recorded.start),
        changed_by=one.changed_by,
    )


def _with_relations(
    reader: Reader, view: View, views: list[EntityView], detail: Detail, budget: Budget
) -> Shown:
    if "relations" not in detail.fields:
        return Shown(views, [], 0)
    relations = reader.relations(view, sources=[one.name for one in views])
    shown = show_relations(relations, detail, budget)
    return Shown(views, shown, len(relations) - len(shown))


def show_relations(
    relations: Iterable[RelationRecord], detail: Detail, budget: Budget
) -> list[RelationView]:
    """As many as fit."""
    shown = []
    for relation in relations:
        one = show_relation(relation, detail)
        if not budget.take(one):
            break
        shown.append(one)
    return shown


def show_relation(relation: RelationRecord, detail: Detail) -> RelationView:
    """A relation; with decay, what is left of its confidence."""
    confidence, original = relation.confidence, None
    if detail.decay is not None:
        original = confidence
        kind, since = relation.key.kind, relation.reinforced
        confidence = round(detail.decay.apply(original, since, detail.decayed_at, kind), 6)
    shown = RelationView(
        source=relation.key.source,
        target=relation.key.target,
        relation_type=relation.key.kind,
        strength=relation.strength,
        confidence=confidence,
        original_confidence=original,
        metadata=relation.metadata or None,
    )
    if "times" in detail.fields:
        shown.reinforced_at = show_moment(relation.reinforced)
        shown.valid_from = show_moment(relation.times.valid.start)
        shown.valid_to = show_moment(relation.times.valid.end)
        shown.recorded_at = show_moment(relation.times.recorded.start)
        shown.changed_by = relation.changed_by
    return shown


def with_decay(detail: Detail, decay: Decay, at: int) -> Detail:
    """The same, with confidence as it is at a moment."""
    return replace(detail, decay=decay, decayed_at=at)


def write_cursor(place: str | int) -> str:
    """Where a page ended, as clients send it back."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def read_cursor(cursor: str | None, kind: type[str] | type[int]) -> str | int | None:
    """Where the page before ended."""
    if cursor is None:
        return None
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        return msgspec.json.decode(data, type=kind)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise ToolError(
            f"cursor must be the nextCursor of the page before, got {cursor[:50]!r}"
        ) from None
