"""Create, update and delete single items; each returns an outcome, with a reason if rejected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dovetail import ToolError
from dovetail_graph.inputs import (
    NewEntity,
    NewObservation,
    NewRelation,
    ObservationDeletion,
    RelationName,
    Time,
)
from dovetail_graph.memory import explain_missing
from dovetail_graph.records import (
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
    Times,
    observation_id,
)
from dovetail_graph.results import Outcome
from dovetail_graph.storage import Writer
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import FOREVER, Span, View, format_timestamp, parse_timestamp
from dovetail_graph.vocabulary import Vocabulary

__all__ = [
    "add_observations",
    "create_entity",
    "create_relation",
    "delete_entity",
    "delete_observations",
    "delete_relation",
    "key_of",
    "label",
    "update_relation",
]

_STRENGTH = 0.9
_CONFIDENCE = 0.95
_MAX_METADATA = 4_000
_MAX_METADATA_LEVELS = 32


def read_span(writer: Writer, start: Time | None, end: Time | None) -> Span:
    """Return the span of validity; it starts now and has no end unless the caller says so."""
    begins = parse_timestamp(start, "validFrom")
    ends = parse_timestamp(end, "validTo")
    span = Span(
        writer.now() if begins is None or start == "now" else begins,
        FOREVER if ends is None else writer.now() if end == "now" else ends,
    )
    if span.end <= span.start:
        raise ToolError(
            f"validTo ({format_timestamp(span.end)}) must be after validFrom "
            f"({format_timestamp(span.start)})"
        )
    return span


def label(key: RelationKey) -> str:
    """Return a relation as one line of text."""
    return f"{key.source} -{key.kind}-> {key.target}"


def key_of(writer: Writer, name: RelationName | NewRelation) -> RelationKey:
    """Return the key of a relation; aliases of its entities are resolved."""
    source, target = normalize(name.source), normalize(name.target)
    return RelationKey(writer.find(source), writer.find(target), normalize(name.relation_type))


def create_entity(writer: Writer, given: NewEntity, vocabulary: Vocabulary) -> Outcome:
    """Create an entity, or add to the existing one."""
    name, kind = normalize(given.name), normalize(given.entity_type)
    reason = vocabulary.check_entity_type(kind)
    if reason is not None:
        return Outcome(name=name, outcome="rejected", reason=reason)
    try:
        span = read_span(writer, given.valid_from, given.valid_to)
        spans = [_span_of(writer, one, span) for one in given.observations]
    except ToolError as error:
        return Outcome(name=name, outcome="rejected", reason=str(error))
    before = writer.entity(name, View(span.start))
    is_new_version = (
        before is None
        or before.kind != kind
        or before.times.valid.end < span.end
        or (given.valid_to is not None and before.times.valid.end > span.end)
    )
    # If it exists at another time within the span, it is updated, not created.
    before = before or writer.entity(name, View(writer.now()))
    if is_new_version:
        writer.put_entity(EntityRecord(name, kind, given.changed_by), span)
    items = list(zip(given.observations, spans, strict=True))
    added = _write_observations(writer, name, items, given.changed_by)
    if before is None:
        writer.log("entity", "created", name, kind, given.changed_by)
        return Outcome(name=name, outcome="created", count=len(added))
    if not is_new_version and not added:
        return Outcome(name=name, outcome="unchanged", reason="it already exists as given")
    detail = f"{before.kind} -> {kind}" if before.kind != kind else kind
    writer.log("entity", "updated", name, detail, given.changed_by)
    return Outcome(name=name, outcome="updated", added=added, count=len(added))


def add_observations(
    writer: Writer, name: str, contents: Sequence[str | NewObservation], by: str | None
) -> Outcome:
    """Add observations to an entity; existing ones are reinforced."""
    found = writer.find(normalize(name))
    if writer.entity(found, View(writer.now())) is None:
        reason = explain_missing(writer, name)
        return Outcome(name=name, outcome="rejected", reason=reason)
    try:
        spans = [_span_of(writer, one, Span(writer.now())) for one in contents]
    except ToolError as error:
        return Outcome(name=found, outcome="rejected", reason=str(error))
    added = _write_observations(writer, found, list(zip(contents, spans, strict=True)), by)
    if not added:
        reason = "all observations already existed; their confidence now decays from this time"
        return Outcome(name=found, outcome="unchanged", reason=reason, added=[], count=0)
    return Outcome(name=found, outcome="updated", added=added, count=len(added))


def _span_of(writer: Writer, given: str | NewObservation, default: Span) -> Span:
    if isinstance(given, str) or (given.valid_from is None and given.valid_to is None):
        return default
    start = given.valid_from if given.valid_from is not None else default.start / 1000
    return read_span(writer, start, given.valid_to)


def _write_observations(
    writer: Writer,
    name: str,
    items: Iterable[tuple[str | NewObservation, Span]],
    by: str | None,
) -> list[str]:
    """Write observations and return the contents of the new ones."""
    added = []
    # By start of validity, which is usually the same for all of them.
    known_at: dict[int, dict[str, ObservationRecord]] = {}
    for given, span in items:
        one = NewObservation(content=given) if isinstance(given, str) else given
        content = normalize(one.content)
        if span.start not in known_at:
            seen = writer.observations([name], View(span.start))
            known_at[span.start] = {record.content: record for record in seen}
        known = known_at[span.start].get(content)
        if known is None:
            record = ObservationRecord(
                name, content, one.source, one.confidence, max(span.start, 0), by, Times(span)
            )
            added.append(content)
            writer.put_observation(record, span)
            writer.log("observation", "created", name, content[:200], by)
        else:
            record = _reinforced_observation(known, one, writer.now())
            if record != known:
                writer.put_observation(record, Span(span.start, known.times.valid.end))
        known_at[span.start][content] = record
    return added


def _reinforced_observation(
    known: ObservationRecord, one: NewObservation, now: int
) -> ObservationRecord:
    """Keep the higher confidence and restart its decay; without any confidence nothing decays."""
    confidences = [value for value in (known.confidence, one.confidence) if value is not None]
    return replace(
        known,
        confidence=max(confidences, default=None),
        source=one.source or known.source,
        reinforced=max(known.reinforced, now) if confidences else known.reinforced,
    )


def create_relation(writer: Writer, given: NewRelation, vocabulary: Vocabulary) -> Outcome:
    """Create a relation, or reinforce the existing one."""
    key = key_of(writer, given)
    name = label(key)
    try:
        span = read_span(writer, given.valid_from, given.valid_to)
    except ToolError as error:
        return Outcome(name=name, outcome="rejected", reason=str(error))
    known = writer.relation(key, View(span.start))
    reason = vocabulary.check_relation_type(key.kind) or _check_ends(writer, key, span)
    reason = reason or _check_metadata(given.metadata, {} if known is None else known.metadata)
    if reason is not None:
        return Outcome(name=name, outcome="rejected", reason=reason)
    writer.put_relation(_reinforced_relation(writer, key, given, known, span), span)
    action = "created" if known is None else "reinforced"
    writer.log("relation", action, key.source, f"{key.kind} {key.target}", given.changed_by)
    if known is None:
        return Outcome(name=name, outcome="created")
    reason = "it already existed; its confidence now decays from this time"
    return Outcome(name=name, outcome="updated", reason=reason)


def update_relation(writer: Writer, given: NewRelation) -> RelationKey:
    """Change strength, confidence or metadata of an existing relation."""
    key = key_of(writer, given)
    span = read_span(writer, given.valid_from, given.valid_to)
    known = writer.relation(key, View(span.start))
    reason = _check_metadata(given.metadata)
    if known is None:
        existing = [
            label(one.key) for one in writer.relations(View(writer.now()), sources=[key.source])
        ]
        hint = f"; relations of that entity: {', '.join(existing[:5])}" if existing else ""
        reason = f"There is no relation {label(key)}{hint}. Use create_relations to create it"
    if reason is not None or known is None:
        raise ToolError(reason)
    changed = RelationRecord(
        key,
        known.strength if given.strength is None else given.strength,
        known.confidence if given.confidence is None else given.confidence,
        known.metadata if given.metadata is None else given.metadata,
        max(span.start, 0),
        given.changed_by,
    )
    writer.put_relation(changed, span)
    writer.log("relation", "updated", key.source, f"{key.kind} {key.target}", given.changed_by)
    return key


def _reinforced_relation(
    writer: Writer, key: RelationKey, given: NewRelation, known: RelationRecord | None, span: Span
) -> RelationRecord:
    confidence = _CONFIDENCE if given.confidence is None else given.confidence
    if known is None:
        strength = _STRENGTH if given.strength is None else given.strength
        reinforced = max(span.start, 0)
        return RelationRecord(
            key, strength, confidence, given.metadata or {}, reinforced, given.changed_by
        )
    return replace(
        known,
        strength=known.strength if given.strength is None else given.strength,
        confidence=known.confidence
        if given.confidence is None
        else max(known.confidence, confidence),
        metadata={**known.metadata, **(given.metadata or {})},
        reinforced=max(known.reinforced, writer.now()),
        changed_by=given.changed_by,
    )


def _check_ends(writer: Writer, key: RelationKey, span: Span) -> str | None:
    if key.source == key.target:
        return f"a relation must connect two different entities, got {key.source!r} twice"
    for end in (key.source, key.target):
        if writer.entity(end, View(writer.now())) is None and (
            writer.entity(end, View(span.start)) is None
        ):
            return explain_missing(writer, end)
    return None


def _check_metadata(given: dict[str, Any] | None, known: Mapping[str, Any] = {}) -> str | None:
    """Return why metadata cannot be added to what is known, or None."""
    if not given:
        return None
    # The nesting first: JSON that is nested too deeply cannot be encoded.
    if _is_nested_deeper(given, _MAX_METADATA_LEVELS):
        return f"metadata is nested more than {_MAX_METADATA_LEVELS} levels deep"
    size = len(json.dumps({**known, **given}, ensure_ascii=False))
    if size <= _MAX_METADATA:
        return None
    return f"metadata has {size} characters as JSON; at most {_MAX_METADATA} are allowed"


def _is_nested_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_nested_deeper(one, levels - 1) for one in inner)


def delete_entity(writer: Writer, name: str, start: int, purge: bool) -> Outcome:
    """Delete an entity with its observations and relations; with `purge`, erase its history."""
    found = writer.find(normalize(name))
    if purge:
        erased = writer.purge_entity(found)
        if erased:
            # Log that something was purged, but not what.
            writer.log("entity", "purged", "", "", None)
            return Outcome(name=found, outcome="purged", count=erased)
    elif writer.entity(found, View(start)) is not None:
        writer.drop_entity(found, Span(start))
        writer.log("entity", "deleted", found, "", None)
        return Outcome(name=found, outcome="deleted")
    return Outcome(name=name, outcome="rejected", reason=explain_missing(writer, name))


def delete_observations(writer: Writer, given: ObservationDeletion, purge: bool) -> Outcome:
    """Delete observations of an entity; with `purge`, erase their history."""
    name = writer.find(normalize(given.entity_name))
    rows = writer.observation_rows(name)
    now = View(writer.now())
    known = {one.content for one in (rows if purge else writer.observations([name], now))}
    if not rows and writer.entity(name, now) is None:
        return Outcome(name=name, outcome="rejected", reason=explain_missing(writer, name))
    by_id = {observation_id(content): content for content in known}
    count = 0
    for wanted in dict.fromkeys(map(normalize, given.observations)):
        content = wanted if wanted in known else by_id.get(wanted)
        if content is None:
            continue
        count += 1
        if purge:
            writer.purge_observation(name, content)
            writer.log("observation", "purged", "", "", None)
        else:
            writer.drop_observation(name, content, Span(writer.now()))
            writer.log("observation", "deleted", name, content[:200], None)
    if count == 0:
        reason = "the entity has none of these observations"
        return Outcome(name=name, outcome="unchanged", reason=reason, count=0)
    return Outcome(name=name, outcome="purged" if purge else "deleted", count=count)


def delete_relation(writer: Writer, given: RelationName, purge: bool) -> Outcome:
    """Delete a relation; with `purge`, erase its history."""
    key = key_of(writer, given)
    if purge:
        erased = writer.purge_relation(key)
        if erased:
            writer.log("relation", "purged", "", "", None)
            return Outcome(name=label(key), outcome="purged", count=erased)
    elif writer.relation(key, View(writer.now())) is not None:
        writer.drop_relation(key, Span(writer.now()))
        writer.log("relation", "deleted", key.source, f"{key.kind} {key.target}", None)
        return Outcome(name=label(key), outcome="deleted")
    reason = f"there is no relation {label(key)}"
    return Outcome(name=label(key), outcome="rejected", reason=reason)
