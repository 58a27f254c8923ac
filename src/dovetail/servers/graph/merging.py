"""Several entities become one; a merge into a new name is a renaming.

What was recorded before stays as it was recorded. In the record of now the facts keep their valid
times, as if they had always been said of the one entity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail import ToolError
from dovetail.servers.graph.memory import explain_missing
from dovetail.servers.graph.moments import FOREVER, Span, View
from dovetail.servers.graph.records import EntityRecord, RelationKey, RelationRecord, Times
from dovetail.servers.graph.results import MergeResult
from dovetail.servers.graph.storage import Writer
from dovetail.servers.graph.text_rules import normalize

__all__ = ["merge_entities"]


def merge_entities(writer: Writer, into: str, names: Sequence[str], dry_run: bool) -> MergeResult:
    """Merge entities into one."""
    target = normalize(into)
    now = View(writer.now())
    sources = list(dict.fromkeys(writer.find(normalize(name)) for name in names))
    for name in sources:
        if writer.entity(name, now) is None:
            raise ToolError(explain_missing(writer, name))
    if target in sources:
        raise ToolError(f"{target!r} cannot be merged into itself; leave it out of `from`")
    existing = writer.entity(target, now)
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
        created=existing is None,
        observations_moved=observations,
        relations_moved=relations,
        relations_dropped=dropped,
        aliases=sorted({*sources, *(writer.aliases(target))}),
        dry_run=dry_run,
    )


def _is_open(times: Times) -> bool:
    return times.recorded.end == FOREVER


def _touching(writer: Writer, name: str) -> list[RelationRecord]:
    """Every version of its relations that the record of now holds, whenever they are true."""
    keys = writer.keys_touching(name)
    return [row for key in keys for row in writer.relation_rows(key) if _is_open(row.times)]


def _count_relations(
    writer: Writer, name: str, target: str, sources: Sequence[str]
) -> tuple[int, int]:
    family = {target, *sources}
    rows = _touching(writer, name)
    inside = [row for row in rows if {row.key.source, row.key.target} <= family]
    return len(rows) - len(inside), len(inside)


def _merge(writer: Writer, name: str, target: str) -> None:
    relations = _touching(writer, name)
    entities = [row for row in writer.entity_rows(name) if _is_open(row.times)]
    observations = [row for row in writer.observation_rows(name) if _is_open(row.times)]
    writer.drop_entity(name, Span())
    for entity in entities:
        for gap in _gaps(writer, target, entity.times.valid):
            kind = (_kind_of(writer, target) or entity).kind
            writer.put_entity(EntityRecord(target, kind, entity.changed_by), gap)
    known = {row.content for row in writer.observation_rows(target) if _is_open(row.times)}
    for one in observations:
        if one.content not in known:
            writer.put_observation(replace(one, entity=target), one.times.valid)
    for relation in relations:
        _move(writer, relation, name, target)
    writer.add_alias(name, target)
    writer.log("entity", "merged", name, f"into {target}", None)


def _kind_of(writer: Writer, name: str) -> EntityRecord | None:
    return next((row for row in writer.entity_rows(name) if _is_open(row.times)), None)


def _gaps(writer: Writer, name: str, span: Span) -> list[Span]:
    """The parts of a span in which an entity is not there yet."""
    taken = sorted(
        (row.times.valid.start, row.times.valid.end)
        for row in writer.entity_rows(name)
        if _is_open(row.times)
    )
    gaps, start = [], span.start
    for begin, end in taken:
        if begin > start and begin <= span.end:
            gaps.append(Span(start, begin))
        start = max(start, end)
    if start < span.end:
        gaps.append(Span(start, span.end))
    return [gap for gap in gaps if gap.start < gap.end]


def _move(writer: Writer, relation: RelationRecord, name: str, target: str) -> None:
    ends = [target if end == name else end for end in (relation.key.source, relation.key.target)]
    key = RelationKey(ends[0], ends[1], relation.key.kind)
    if key.source == key.target:
        return
    known = writer.relation(key, View(max(relation.times.valid.start, 0)))
    if known is not None:
        # Both said the same: keep the surer word, and the fresher.
        relation = replace(
            relation,
            confidence=max(known.confidence, relation.confidence),
            strength=max(known.strength, relation.strength),
            metadata={**relation.metadata, **known.metadata},
            reinforced=max(known.reinforced, relation.reinforced),
        )
    writer.put_relation(replace(relation, key=key), relation.times.valid)
