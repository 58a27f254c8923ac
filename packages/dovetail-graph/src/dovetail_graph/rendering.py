"""Render records as results: names first, then as much detail as the size limit allows."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from dovetail import ToolError
from dovetail_graph.decay import Decay
from dovetail_graph.records import Change, EntityRecord, ObservationRecord, Record, RelationRecord
from dovetail_graph.results import ChangeView, EntityView, ObservationView, RelationView, Status
from dovetail_graph.storage import Reader
from dovetail_graph.text_normalization import fold
from dovetail_graph.timestamps import View, format_timestamp
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = [
    "Detail",
    "Rendered",
    "decode_cursor",
    "encode_cursor",
    "render",
    "render_change",
    "render_period",
    "render_relation",
    "render_relations",
    "status_of",
    "with_decay",
]


@dataclass(frozen=True, slots=True)
class Detail:
    """How much to include of each entity."""

    fields: frozenset[str] = frozenset({"observations", "relations"})
    max_observations: int = 10
    # If set, relations and observations show their confidence decayed until `decayed_at`.
    decay: Decay | None = None
    decayed_at: int = 0
    # If set, facts of any time are shown, and marked if they are not true at this one.
    now: int | None = None
    # Observations with these words come first.
    words: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rendered:
    """What fits into the result."""

    entities: list[EntityView]
    relations: list[RelationView]
    relations_left_out: int


def render(
    reader: Reader,
    view: View,
    entities: Sequence[EntityRecord],
    detail: Detail,
    budget: AnswerBudget,
) -> Rendered:
    """Render as many entities as fit, in order, and their outgoing relations."""
    views: list[EntityView] = []
    for start in range(0, len(entities), 50):
        some = entities[start : start + 50]
        known: dict[str, list[ObservationRecord]] = {}
        if {"observations", "details"} & detail.fields:
            for one in reader.observations([entity.name for entity in some], view):
                known.setdefault(one.entity, []).append(one)
        for entity in some:
            shown = _render_entity(entity, known.get(entity.name, []), detail, budget)
            if shown is None:
                return _with_relations(reader, view, views, detail, budget)
            views.append(shown)
    return _with_relations(reader, view, views, detail, budget)


def _render_entity(
    entity: EntityRecord, known: list[ObservationRecord], detail: Detail, budget: AnswerBudget
) -> EntityView | None:
    """Render an entity with as many observations as fit; None if not even its name fits."""
    count = min(len(known), detail.max_observations)
    known = sorted(known, key=lambda one: _place(one, detail))
    while True:
        view = EntityView(
            name=entity.name,
            entity_type=entity.kind,
            status=status_of(entity, detail.now),
            more_observations=len(known) - count if known else 0,
        )
        if "observations" in detail.fields and "details" not in detail.fields:
            chosen = [(one, status_of(one, detail.now)) for one in known[:count]]
            view.observations = [one.content for one, status in chosen if status is None]
            view.other_times = [render_period(one, status) for one, status in chosen if status]
            view.other_times = view.other_times or None
        if "details" in detail.fields:
            view.details = [_render_observation(one, detail) for one in known[:count]]
        if "times" in detail.fields or view.status is not None:
            view.valid_from = format_timestamp(entity.times.valid.start)
            view.valid_to = format_timestamp(entity.times.valid.end)
        if "times" in detail.fields:
            view.recorded_at = _unless_begin(entity.times.recorded.start, entity)
            view.changed_by = entity.changed_by
        if budget.take(view):
            return view
        if count == 0:
            return None
        count //= 2


def _place(one: ObservationRecord, detail: Detail) -> tuple[int, bool]:
    """Return the sort key of an observation: more of the words, then true now."""
    text = fold(one.content) if detail.words else ""
    hits = sum(word in text for word in detail.words)
    return -hits, status_of(one, detail.now) is not None


def status_of(record: Record, now: int | None) -> Status | None:
    """Return why a fact is not true at a time, or None if it is."""
    if now is None or (now in record.times.valid and not record.deleted):
        return None
    if record.deleted:
        return "deleted"
    return "ended" if record.times.valid.end <= now else "upcoming"


def render_period(one: ObservationRecord, status: Status | None) -> ObservationView:
    """Render an observation with its period of validity only."""
    return ObservationView(
        content=one.content,
        status=status,
        valid_from=format_timestamp(one.times.valid.start),
        valid_to=format_timestamp(one.times.valid.end),
    )


def _render_observation(one: ObservationRecord, detail: Detail) -> ObservationView:
    left = None
    if detail.decay is not None and one.confidence is not None:
        left = round(detail.decay.apply(one.confidence, one.reinforced, detail.decayed_at), 6)
    return ObservationView(
        id=one.id,
        content=one.content,
        status=status_of(one, detail.now),
        source=one.source,
        confidence=one.confidence,
        current_confidence=left,
        valid_from=format_timestamp(one.times.valid.start),
        valid_to=format_timestamp(one.times.valid.end),
        recorded_at=_unless_begin(one.times.recorded.start, one),
        changed_by=one.changed_by,
    )


def _unless_begin(timestamp: int, record: Record) -> str | None:
    """Return the timestamp, or None if it is validFrom, as for most facts."""
    return None if timestamp == record.times.valid.start else format_timestamp(timestamp)


def _with_relations(
    reader: Reader, view: View, views: list[EntityView], detail: Detail, budget: AnswerBudget
) -> Rendered:
    if "relations" not in detail.fields:
        return Rendered(views, [], 0)
    relations = reader.relations(view, sources=[one.name for one in views])
    shown = render_relations(relations, detail, budget)
    return Rendered(views, shown, len(relations) - len(shown))


def render_relations(
    relations: Iterable[RelationRecord], detail: Detail, budget: AnswerBudget
) -> list[RelationView]:
    """Render as many relations as fit."""
    return budget.fitting(render_relation(relation, detail) for relation in relations)


def render_relation(relation: RelationRecord, detail: Detail) -> RelationView:
    """Render a relation, with decayed confidence if `detail` asks for it."""
    confidence, original = relation.confidence, None
    if detail.decay is not None:
        original = confidence
        kind, since = relation.key.kind, relation.reinforced
        confidence = round(detail.decay.apply(original, since, detail.decayed_at, kind), 6)
    shown = RelationView(
        source=relation.key.source,
        target=relation.key.target,
        relation_type=relation.key.kind,
        status=status_of(relation, detail.now),
        strength=relation.strength,
        confidence=confidence,
        original_confidence=original,
        metadata=relation.metadata or None,
    )
    if "times" in detail.fields or shown.status is not None:
        shown.valid_from = format_timestamp(relation.times.valid.start)
        shown.valid_to = format_timestamp(relation.times.valid.end)
    if "times" in detail.fields:
        shown.reinforced_at = _unless_begin(relation.reinforced, relation)
        shown.recorded_at = _unless_begin(relation.times.recorded.start, relation)
        shown.changed_by = relation.changed_by
    return shown


def render_change(one: Change) -> ChangeView:
    """Render an entry of the change log."""
    return ChangeView(
        sequence=one.sequence,
        at=format_timestamp(one.at),
        kind=one.kind,
        action=one.action,
        name=one.name,
        detail=one.detail or None,
        changed_by=one.changed_by,
    )


def with_decay(detail: Detail, decay: Decay, at: int) -> Detail:
    """Return a copy that shows confidence decayed until a time."""
    return replace(detail, decay=decay, decayed_at=at)


def encode_cursor(position: str | int) -> str:
    """Return the cursor for the page after this position."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def decode_cursor(cursor: str | None, kind: type[str] | type[int]) -> str | int | None:
    """Return the position that a cursor stands for."""
    if cursor is None:
        return None
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
        return msgspec.json.decode(data, type=kind)
    except (binascii.Error, ValueError, msgspec.DecodeError):
        raise ToolError(
            f"cursor must be the nextCursor of the previous page, got {cursor[:50]!r}"
        ) from None
