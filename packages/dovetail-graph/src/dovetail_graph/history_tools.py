"""Tools for history: get_entity_history, get_relation_history."""

from __future__ import annotations

from typing import Annotated, Any

from dovetail import ToolError, ToolResult
from dovetail_graph.answers import answer
from dovetail_graph.inputs import HIDDEN, MAX_CHARS, bounded
from dovetail_graph.memory import Memory, explain_missing
from dovetail_graph.read_tools import RELATION_SCHEMA
from dovetail_graph.records import EntityRecord, ObservationRecord, RelationKey, join_periods
from dovetail_graph.rendering import (
    decode_cursor,
    encode_cursor,
    render_period,
    status_of,
)
from dovetail_graph.results import (
    EntityHistory,
    EntityVersion,
    RelationHistory,
    RelationVersion,
    SpanView,
)
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import FOREVER, format_timestamp
from dovetail_graph.toolbox import Toolbox
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_history_tools"]

_MAX_SHOWN = 20
_RELATION_HISTORY = frozenset({"from", "to", "relationType", "cursor", "limit"})


def add_history_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add(
        "get_entity_history",
        "Every version of an entity, the newest first; also if it is deleted.",
        READS,
        EntityHistory,
    )
    def get_entity_history(
        entityName: str,
        cursor: str | None = None,
        limit: Annotated[int, HIDDEN] = 20,
    ) -> ToolResult:
        limit = bounded(limit, 1, 500)
        skip = int(decode_cursor(cursor, int) or 0)
        with memory.store.reading() as reader:
            name = normalize(entityName)
            if not reader.entity_rows(name):
                name = reader.find(name)
            entities, observations = reader.entity_rows(name), reader.observation_rows(name)
            if not entities:
                raise ToolError(explain_missing(reader, entityName))
        stamps = _stamps([*entities, *observations])
        total = len(stamps)
        shown: list[EntityVersion] = []
        budget = AnswerBudget(MAX_CHARS)
        for number in range(total - skip, max(0, total - skip - limit), -1):
            until = stamps[number] if number < total else FOREVER
            version = _version(number, stamps[number - 1], until, entities, observations)
            while not (fits := budget.take(version)) and _shorten(version):
                pass
            if not fits:
                break
            shown.append(version)
        end = skip + len(shown)
        return answer(
            EntityHistory(
                entity_name=name,
                history=shown,
                total_versions=total,
                has_more=end < total,
                next_cursor=encode_cursor(end) if end < total else None,
            )
        )

    @tools.add(
        "get_relation_history",
        "Every version of a relation, the newest first; also if it is deleted.",
        READS,
        RelationHistory,
        {
            **RELATION_SCHEMA,
            "properties": {**RELATION_SCHEMA["properties"], "cursor": {"type": "string"}},
            # `limit` is not listed.
            "additionalProperties": True,
        },
    )
    def get_relation_history(**given: Any) -> ToolResult:
        if unknown := given.keys() - _RELATION_HISTORY:
            raise ToolError(
                f"Unknown arguments: {', '.join(sorted(unknown))[:200]}; allowed: "
                f"{', '.join(sorted(_RELATION_HISTORY))}"
            )
        skip = int(decode_cursor(given.get("cursor"), int) or 0)
        limit = bounded(int(given.get("limit", 20)), 1, 200)
        kind = normalize(given["relationType"])
        with memory.store.reading() as reader:
            names = [normalize(given[end]) for end in ("from", "to")]
            key = RelationKey(names[0], names[1], kind)
            rows = reader.relation_rows(key)
            if not rows:
                key = RelationKey(reader.find(names[0]), reader.find(names[1]), kind)
                rows = reader.relation_rows(key)
        versions = [
            RelationVersion(
                version=number,
                strength=row.strength,
                confidence=row.confidence,
                metadata=row.metadata or None,
                reinforced_at=format_timestamp(row.reinforced),
                valid_from=format_timestamp(row.times.valid.start),
                valid_to=format_timestamp(row.times.valid.end),
                recorded_at=format_timestamp(row.times.recorded.start),
                recorded_until=format_timestamp(row.times.recorded.end),
                changed_by=row.changed_by,
            )
            for number, row in enumerate(rows, 1)
        ][::-1]
        page = AnswerBudget(MAX_CHARS).fitting(versions[skip : skip + limit])
        end = skip + len(page)
        return answer(
            RelationHistory(
                source=key.source,
                target=key.target,
                relation_type=kind,
                history=page,
                total_versions=len(versions),
                has_more=end < len(versions),
                next_cursor=encode_cursor(end) if end < len(versions) else None,
            )
        )


def _shorten(version: EntityVersion) -> bool:
    """Leave out half of a version's lists; return whether there was anything to leave out."""
    texts, others = version.observations, version.other_times or []
    kept, kept_others = texts[: len(texts) // 2], others[: len(others) // 2]
    is_shorter = bool(texts or others or len(version.spans) > 1)
    version.more_observations += len(texts) + len(others) - len(kept) - len(kept_others)
    version.observations, version.other_times = kept, kept_others or None
    version.spans = version.spans[: max(1, len(version.spans) // 2)]
    return is_shorter


def _stamps(rows: list[Any]) -> list[int]:
    """Return the times at which the record changed."""
    starts = {row.times.recorded.start for row in rows}
    return sorted(
        starts | {row.times.recorded.end for row in rows if row.times.recorded.end < FOREVER}
    )


def _version(
    number: int,
    stamp: int,
    until: int,
    entities: list[EntityRecord],
    observations: list[ObservationRecord],
) -> EntityVersion:
    rows: list[Any] = [*entities, *observations]
    spans = [row for row in entities if stamp in row.times.recorded]
    here = next((row for row in spans if status_of(row, stamp) is None), None)
    recorded = [row for row in observations if stamp in row.times.recorded]
    facts = [
        (row, status_of(row, stamp)) for row in join_periods(recorded, lambda row: row.content)
    ]
    facts.sort(key=lambda fact: fact[1] is not None)
    by = next((row.changed_by for row in rows if row.times.recorded.start == stamp), None)
    return EntityVersion(
        version=number,
        recorded_at=format_timestamp(stamp),
        recorded_until=format_timestamp(until),
        present=here is not None,
        entity_type=None if here is None else here.kind,
        observations=[row.content for row, status in facts[:_MAX_SHOWN] if status is None],
        other_times=[render_period(*fact) for fact in facts[:_MAX_SHOWN] if fact[1]] or None,
        more_observations=max(0, len(facts) - _MAX_SHOWN),
        spans=[
            SpanView(
                valid_from=format_timestamp(row.times.valid.start),
                valid_to=format_timestamp(row.times.valid.end),
                entity_type=row.kind,
            )
            for row in spans
        ],
        changed_by=by,
    )
