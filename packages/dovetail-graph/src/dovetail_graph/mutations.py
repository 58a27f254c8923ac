"""Create, update and delete single items; each returns an outcome, with a reason if rejected."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from dovetail import ToolError
from dovetail_graph.inputs import (
    NewEntity,
    NewObservation,
    NewRelation,
    ObservationDeletion,
    RelationName,
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
from dovetail_graph.text_limits import MAX_ITEMS, check_texts
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import ANY_TIME, Span, View, format_timestamp
from dovetail_graph.valid_periods import (
    check_end,
    default_span,
    periods_to_write,
    read_span,
    widen_entity,
)
from dovetail_graph.vocabulary import Vocabulary

__all__ = [
    "CONFIDENCE",
    "STRENGTH",
    "add_observations",
    "check_metadata",
    "create_entity",
    "create_relation",
    "delete_entity",
    "delete_observations",
    "delete_relation",
    "key_of",
    "label",
    "update_relation",
]

STRENGTH = 0.9
CONFIDENCE = 0.95
_MAX_METADATA = 4_000
_MAX_METADATA_LEVELS = 32
# Characters of a text that an answer repeats.
_MAX_ECHO = 200
_Row = TypeVar("_Row", EntityRecord, RelationRecord)


def label(key: RelationKey) -> str:
    """Return a relation as one line of text."""
    source, kind, target = (part[:_MAX_ECHO] for part in (key.source, key.kind, key.target))
    return f"{source} -{kind}-> {target}"


def key_of(writer: Writer, name: RelationName | NewRelation) -> RelationKey:
    """Return the key of a relation; aliases of its entities are resolved."""
    source, target = normalize(name.source), normalize(name.target)
    return RelationKey(writer.find(source), writer.find(target), normalize(name.relation_type))


def create_entity(writer: Writer, given: NewEntity, vocabulary: Vocabulary) -> Outcome:
    """Create an entity, or add to the existing one."""
    name, kind = normalize(given.name), normalize(given.entity_type)
    texts = {"name": given.name, "entityType": given.entity_type, "changedBy": given.changed_by}
    reason = check_texts(texts) or vocabulary.check_entity_type(kind)
    if reason is not None:
        return Outcome(name=name[:_MAX_ECHO], outcome="rejected", reason=reason)
    known = writer.entity_periods(name)
    is_current = any(writer.now() in row.times.valid for row in known)
    default = default_span(writer, [name]) if is_current else Span(writer.now())
    try:
        span = read_span(writer, given.valid_from, given.valid_to, default)
        facts = _read_facts(writer, name, given.observations, span)
        if given.valid_from is not None and not known:
            _check_begin(span, facts)
        last = max([span.end, *(row.times.valid.end for row in known)])
        for fact in facts:
            check_end(name, fact.span, last)
    except ToolError as error:
        return Outcome(name=name, outcome="rejected", reason=str(error))
    kept, gaps = periods_to_write(known, kind, span, given.replace_type)
    for gap in gaps:
        writer.put_entity(EntityRecord(name, kept, given.changed_by), gap)
    begins = min([span.start, *(row.times.valid.start for row in known)])
    older = [fact.span for fact in facts if fact.span.start < begins]
    notes = widen_entity(writer, name, older) if older else []
    added = _write_facts(writer, name, facts, given.changed_by)
    if kept != kind:
        notes.append(f"it is still of type {kept!r}; replaceType=true changes it to {kind!r}")
    if not known:
        writer.log("entity", "created", name, kept, given.changed_by)
        return Outcome(name=name, outcome="created", reason=_join(notes), count=len(added))
    if not gaps and not added:
        reason = _join(notes or ["it already exists as given"])
        return Outcome(name=name, outcome="unchanged", reason=reason)
    ended, before = known[-1].times.valid.end, known[-1].kind
    if gaps and ended <= span.start:
        notes.append(f"it had ended at {format_timestamp(ended)}")
    detail = f"{before} -> {kept}" if before != kept else kept
    writer.log("entity", "updated", name, detail, given.changed_by)
    return Outcome(name=name, outcome="updated", reason=_join(notes), added=added, count=len(added))


def add_observations(
    writer: Writer, name: str, contents: Sequence[str | NewObservation], by: str | None
) -> Outcome:
    """Add observations to an entity; existing ones are reinforced."""
    found = writer.find(normalize(name))
    periods = writer.entity_periods(found)
    if not periods:
        reason = explain_missing(writer, name)
        return Outcome(name=name[:_MAX_ECHO], outcome="rejected", reason=reason)
    try:
        if invalid := check_texts({"changedBy": by}):
            raise ToolError(invalid)
        facts = _read_facts(writer, found, contents, default_span(writer, [found]))
        for fact in facts:
            check_end(found, fact.span, periods[-1].times.valid.end)
    except ToolError as error:
        return Outcome(name=found, outcome="rejected", reason=str(error))
    notes = widen_entity(writer, found, (fact.span for fact in facts))
    added = _write_facts(writer, found, facts, by)
    if not added:
        reason = "all observations already existed; their confidence now decays from this time"
        return Outcome(name=found, outcome="unchanged", reason=reason, added=[], count=0)
    return Outcome(
        name=found, outcome="updated", reason=_join(notes), added=added, count=len(added)
    )


@dataclass(frozen=True, slots=True)
class _Fact:
    """An observation to write, when it is true, and the text that it replaces."""

    given: NewObservation
    content: str
    span: Span
    replaced: str | None


def _read_facts(
    writer: Writer, name: str, contents: Sequence[str | NewObservation], default: Span
) -> list[_Fact]:
    """Return the observations to write. Raises ToolError if one is invalid."""
    if len(contents) > MAX_ITEMS:
        raise ToolError(f"at most {MAX_ITEMS} observations at once, got {len(contents)}")
    items = [NewObservation(content=one) if isinstance(one, str) else one for one in contents]
    known: dict[str, ObservationRecord] = {}
    if any(one.replaces is not None for one in items):
        known = {row.content: row for row in writer.observations([name], ANY_TIME)}
    facts = []
    for one in items:
        if reason := check_texts({"content": one.content, "source": one.source}):
            raise ToolError(reason)
        content = normalize(one.content)
        old = None if one.replaces is None else _replaced_by(known, name, one.replaces)
        # A correction holds for the time of what it corrects.
        usual = default if old is None else old.times.valid
        span = read_span(writer, one.valid_from, one.valid_to, usual)
        replaced = None if old is None or old.content == content else old.content
        facts.append(_Fact(one, content, span, replaced))
    return facts


def _replaced_by(
    known: Mapping[str, ObservationRecord], name: str, wanted: str
) -> ObservationRecord:
    """Return the observation with this text or id. Raises ToolError if it does not exist."""
    content = _find_observation(known, wanted)
    if content is not None:
        return known[content]
    # Beginnings only: comparing long texts takes long.
    begun = wanted[:_MAX_ECHO]
    close = difflib.get_close_matches(begun, [text[:_MAX_ECHO] for text in known], 1, 0.3)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ToolError(f"{name!r} has no observation {begun!r} to replace{hint}")


def _find_observation(known: Collection[str], wanted: str) -> str | None:
    """Return the text of an observation, given by its text or id."""
    text = normalize(wanted)
    if text in known or not text.startswith("o-"):
        return text if text in known else None
    return next((one for one in known if observation_id(one) == text), None)


def _check_begin(span: Span, facts: Iterable[_Fact]) -> None:
    """Raise ToolError if a fact is older than the validFrom of its entity in the same item."""
    for fact in facts:
        if fact.span.start < span.start:
            raise ToolError(
                f"the observation {fact.content[:100]!r} has validFrom "
                f"{format_timestamp(fact.span.start)}, before the validFrom of its entity "
                f"({format_timestamp(span.start)}); change one of them"
            )


def _join(notes: Sequence[str]) -> str | None:
    return "; ".join(notes) or None


def _write_facts(writer: Writer, name: str, facts: Iterable[_Fact], by: str | None) -> list[str]:
    """Write observations and return the contents of the new ones."""
    added = []
    # By start of validity, which is usually the same for all of them.
    known_at: dict[int, dict[str, ObservationRecord]] = {}
    for fact in facts:
        one, content, span = fact.given, fact.content, fact.span
        if fact.replaced is not None:
            writer.delete_observation(name, fact.replaced)
            writer.log("observation", "replaced", name, fact.replaced[:200], by)
        if span.start not in known_at:
            seen = writer.observations([name], View(span.start))
            known_at[span.start] = {row.content: row for row in seen if not row.deleted}
        known = known_at[span.start].get(content)
        if known is None:
            record = ObservationRecord(
                name, content, one.source, one.confidence, max(span.start, 0), by, Times(span)
            )
        else:
            record = _reinforced_observation(known, one, writer.now())
            # Without times of its own it stays as long as it was recorded for.
            is_timed = one.valid_from is not None or one.valid_to is not None
            end = max(known.times.valid.end, span.end if is_timed else 0)
            record = replace(record, times=Times(Span(known.times.valid.start, end)))
        if known is None or known.times.valid.end < record.times.valid.end:
            added.append(content)
            writer.log("observation", "created", name, content[:200], by)
        if known is None or record != replace(known, times=Times(known.times.valid)):
            writer.put_observation(record, Span(span.start, record.times.valid.end))
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
    name, ends = label(key), (key.source, key.target)
    reason = _check_relation(given) or vocabulary.check_relation_type(key.kind)
    reason = reason or _check_ends(writer, key)
    if reason is not None:
        return Outcome(name=name, outcome="rejected", reason=reason)
    try:
        span = read_span(writer, given.valid_from, given.valid_to, default_span(writer, ends))
        for end in ends:
            check_end(end, span, writer.entity_periods(end)[-1].times.valid.end)
    except ToolError as error:
        return Outcome(name=name, outcome="rejected", reason=str(error))
    known = _undeleted(writer.relation(key, View(span.start)))
    if known is not None and given.valid_from is None and given.valid_to is None:
        # It stays as long as it was recorded for.
        span = Span(span.start, known.times.valid.end)
    reason = check_metadata(given.metadata, {} if known is None else known.metadata)
    if reason is not None:
        return Outcome(name=name, outcome="rejected", reason=reason)
    notes = [note for end in ends for note in widen_entity(writer, end, [span])]
    writer.put_relation(_reinforced_relation(writer, key, given, known, span), span)
    action = "created" if known is None else "reinforced"
    writer.log("relation", action, key.source, f"{key.kind} {key.target}", given.changed_by)
    if known is None:
        return Outcome(name=name, outcome="created", reason=_join(notes))
    notes.append("it already existed; its confidence now decays from this time")
    return Outcome(name=name, outcome="updated", reason=_join(notes))


def _check_relation(given: NewRelation) -> str | None:
    texts = {"from": given.source, "to": given.target, "relationType": given.relation_type}
    return check_texts({**texts, "changedBy": given.changed_by})


def _undeleted(record: _Row | None) -> _Row | None:
    return None if record is None or record.deleted else record


def update_relation(writer: Writer, given: NewRelation) -> RelationKey:
    """Change strength, confidence or metadata of an existing relation."""
    key = key_of(writer, given)
    now = Span(writer.now())
    existing = _undeleted(writer.relation(key, ANY_TIME))
    # A relation that has ended is changed for the time that it held.
    usual = existing.times.valid if existing and now.start not in existing.times.valid else now
    span = read_span(writer, given.valid_from, given.valid_to, usual)
    known = _undeleted(writer.relation(key, View(span.start)))
    reason = _check_relation(given) or check_metadata(given.metadata)
    if known is None:
        others = [label(one.key) for one in writer.relations(ANY_TIME, sources=[key.source])]
        hint = f"; relations of that entity: {', '.join(others[:5])}" if others else ""
        reason = f"There is no relation {label(key)}{hint}; record it first"
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
    confidence = CONFIDENCE if given.confidence is None else given.confidence
    if known is None:
        strength = STRENGTH if given.strength is None else given.strength
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


def _check_ends(writer: Writer, key: RelationKey) -> str | None:
    if key.source == key.target:
        return f"a relation must connect two different entities, got {key.source!r} twice"
    missing = [end for end in (key.source, key.target) if not writer.entity_periods(end)]
    return explain_missing(writer, missing[0]) if missing else None


def check_metadata(given: dict[str, Any] | None, known: Mapping[str, Any] = {}) -> str | None:
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


def delete_entity(writer: Writer, name: str, ended: int | None, purge: bool) -> Outcome:
    """Delete an entity with its observations and relations, or let it end at a time.

    `purge` erases its history.
    """
    found = writer.find(normalize(name))
    if purge:
        erased = writer.purge_entity(found)
        if erased:
            # Log that something was purged, but not what.
            writer.log("entity", "purged", "", "", None)
            return Outcome(name=found, outcome="purged", count=erased)
    elif ended is None and writer.entity_periods(found):
        writer.delete_entity(found)
        writer.log("entity", "deleted", found, "", None)
        return Outcome(name=found, outcome="deleted")
    elif ended is not None and _undeleted(writer.entity(found, View(ended))) is not None:
        writer.drop_entity(found, Span(ended))
        writer.log("entity", "ended", found, format_timestamp(ended) or "", None)
        return Outcome(name=found, outcome="deleted")
    reason = explain_missing(writer, name)
    return Outcome(name=name[:_MAX_ECHO], outcome="rejected", reason=reason)


def delete_observations(writer: Writer, given: ObservationDeletion, purge: bool) -> Outcome:
    """Delete observations of an entity; with `purge`, erase their history."""
    name = writer.find(normalize(given.entity_name))
    rows = writer.observation_rows(name)
    if not rows and not writer.entity_periods(name):
        reason = explain_missing(writer, name)
        return Outcome(name=name[:_MAX_ECHO], outcome="rejected", reason=reason)
    known = {one.content for one in (rows if purge else writer.observations([name], ANY_TIME))}
    unknown, contents = [], []
    for wanted in dict.fromkeys(given.observations):
        content = _find_observation(known, wanted)
        if content is None:
            unknown.append(wanted)
        else:
            contents.append(content)
    for content in dict.fromkeys(contents):
        if purge:
            writer.purge_observation(name, content)
            writer.log("observation", "purged", "", "", None)
        else:
            writer.delete_observation(name, content)
            writer.log("observation", "deleted", name, content[:200], None)
    return Outcome(
        name=name,
        outcome="unchanged" if not contents else "purged" if purge else "deleted",
        reason="the entity has no observation with the texts in notFound" if unknown else None,
        not_found=[one[:_MAX_ECHO] for one in unknown] or None,
        count=len(set(contents)),
    )


def delete_relation(writer: Writer, given: RelationName, purge: bool) -> Outcome:
    """Delete a relation; with `purge`, erase its history."""
    key = key_of(writer, given)
    if purge:
        erased = writer.purge_relation(key)
        if erased:
            writer.log("relation", "purged", "", "", None)
            return Outcome(name=label(key), outcome="purged", count=erased)
    elif writer.relation(key, ANY_TIME) is not None:
        writer.delete_relation(key)
        writer.log("relation", "deleted", key.source, f"{key.kind} {key.target}", None)
        return Outcome(name=label(key), outcome="deleted")
    reason = f"there is no relation {label(key)}"
    return Outcome(name=label(key), outcome="rejected", reason=reason)
