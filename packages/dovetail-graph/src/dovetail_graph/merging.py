"""Merge several entities into one; a merge into a new name renames the entity.

Earlier states of the record do not change. In the current record the facts keep their valid times,
as if they had always been recorded for the merged entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dovetail import ToolError
from dovetail_graph.memory import explain_missing
from dovetail_graph.records import (
    ObservationRecord,
    Record,
    RelationKey,
    RelationRecord,
    Times,
)
from dovetail_graph.results import MergeResult
from dovetail_graph.storage import Writer
from dovetail_graph.text_limits import check_texts
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import FOREVER, Span, find_gaps

__all__ = ["merge_entities"]


def merge_entities(writer: Writer, into: str, names: Sequence[str], dry_run: bool) -> MergeResult:
    """Merge entities into one."""
    if reason := check_texts({"into": into}):
        raise ToolError(reason)
    target = normalize(into)
    sources = list(dict.fromkeys(writer.find(normalize(name)) for name in names))
    for name in sources:
        if not writer.entity_periods(name):
            raise ToolError(explain_missing(writer, name))
    if target in sources:
        raise ToolError(f"{target!r} cannot be merged into itself; remove it from `from`")
    existing = writer.entity_periods(target)
    observations = relations = dropped = 0
    for name in sources:
        observations += len([one for one in writer.observation_rows(name) if _is_open(one.times)])
        moved, lost = _count_relations(writer, name, target, sources)
        relations, dropped = relations + moved, dropped + lost
        if not dry_run:
            _merge(writer, name, target)
    return MergeResult(
        into=target,
        merged=sources,
        created=not existing,
        observations_moved=observations,
        relations_moved=relations,
        relations_dropped=dropped,
        aliases=sorted({*sources, *(writer.aliases(target))}),
        dry_run=dry_run,
    )


def _covered(rows: Iterable[Record]) -> list[Span]:
    """Return the valid spans of rows."""
    return [row.times.valid for row in rows]


def _is_open(times: Times) -> bool:
    return times.recorded.end == FOREVER


def _relation_versions(writer: Writer, name: str) -> list[RelationRecord]:
    """Return every version of its relations in the current record, of any valid time."""
    keys = writer.relation_keys_of(name)
    return [row for key in keys for row in writer.relation_rows(key) if _is_open(row.times)]


def _count_relations(
    writer: Writer, name: str, target: str, sources: Sequence[str]
) -> tuple[int, int]:
    merged = {target, *sources}
    rows = _relation_versions(writer, name)
    inside = [row for row in rows if {row.key.source, row.key.target} <= merged]
    return len(rows) - len(inside), len(inside)


def _merge(writer: Writer, name: str, target: str) -> None:
    relations = _relation_versions(writer, name)
    entities = [row for row in writer.entity_rows(name) if _is_open(row.times)]
    observations = [row for row in writer.observation_rows(name) if _is_open(row.times)]
    existing = [row for row in writer.entity_rows(target) if _is_open(row.times)]
    writer.drop_entity(name, Span())
    # An existing target keeps its latest type; a new name takes over the types as they were.
    kind = max(existing, key=lambda row: row.times.valid.start).kind if existing else None
    for entity in entities:
        for gap in find_gaps(_covered(existing), entity.times.valid):
            writer.put_entity(replace(entity, name=target, kind=kind or entity.kind), gap)
    known: dict[str, list[ObservationRecord]] = {}
    for row in writer.observation_rows(target):
        if _is_open(row.times):
            known.setdefault(row.content, []).append(row)
    for one in observations:
        for gap in find_gaps(_covered(known.get(one.content, [])), one.times.valid):
            writer.put_observation(replace(one, entity=target), gap)
    for relation in relations:
        _move(writer, relation, name, target)
    writer.add_alias(name, target)
    writer.log("entity", "merged", name, f"into {target}", None)


def _move(writer: Writer, relation: RelationRecord, name: str, target: str) -> None:
    ends = [target if end == name else end for end in (relation.key.source, relation.key.target)]
    key = RelationKey(ends[0], ends[1], relation.key.kind)
    if key.source == key.target:
        return
    span, moved = relation.times.valid, replace(relation, key=key)
    known = [row for row in writer.relation_rows(key) if _is_open(row.times)]
    for gap in find_gaps(_covered(known), span):
        writer.put_relation(moved, gap)
    for row in known:
        both = Span(max(span.start, row.times.valid.start), min(span.end, row.times.valid.end))
        if both.start < both.end:
            writer.put_relation(_combine(moved, row), both)


def _combine(one: RelationRecord, other: RelationRecord) -> RelationRecord:
    """Combine two records of the same relation: higher confidence, latest reinforcement."""
    return replace(
        one,
        confidence=max(other.confidence, one.confidence),
        strength=max(other.strength, one.strength),
        metadata={**one.metadata, **other.metadata},
        reinforced=max(other.reinforced, one.reinforced),
    )
