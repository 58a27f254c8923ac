"""The json format: every version of every fact with all of its times, former names, the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dovetail_graph.records import (
    Change,
    EntityRecord,
    ObservationRecord,
    Record,
    RelationRecord,
)
from dovetail_graph.storage import ChangeFilter, Reader
from dovetail_graph.timestamps import EARLIEST, FOREVER, format_timestamp

__all__ = ["FullGraph", "take_full", "write_full"]


@dataclass(frozen=True, slots=True)
class FullGraph:
    """Everything that a namespace holds."""

    entities: list[EntityRecord]
    observations: list[ObservationRecord]
    relations: list[RelationRecord]
    aliases: dict[str, str]
    changes: list[Change]


def take_full(reader: Reader) -> FullGraph:
    """Read everything."""
    names, _ = reader.names_ever(-1)
    aliases = {alias: name for name in names for alias in reader.aliases(name)}
    changes = reader.changes(ChangeFilter(EARLIEST, FOREVER, limit=-1))[::-1]
    return FullGraph(*reader.rows_on(sorted(names)), aliases, changes)


def write_full(graph: FullGraph) -> Iterator[str]:
    """Return the lines of the document; one line is one version of an entity or a relation."""
    texts: dict[str, list[dict[str, Any]]] = {}
    for one in graph.observations:
        shown = {"content": one.content, "source": one.source, "confidence": one.confidence}
        texts.setdefault(one.entity, []).append(_plain(shown, one, one.reinforced))
    # The observations are in the last version of their entity, which is a present one if any is.
    versions = sorted(graph.entities, key=lambda one: (one.name, _is_present(one)))
    last = {one.name: number for number, one in enumerate(versions)}
    entities = (
        _plain(
            {
                "name": one.name,
                "entityType": one.kind,
                "changedBy": one.changed_by,
                "observations": texts.get(one.name, []) if last[one.name] == number else None,
            },
            one,
        )
        for number, one in enumerate(versions)
    )
    relations = (
        _plain(
            {
                "from": one.key.source,
                "to": one.key.target,
                "relationType": one.key.kind,
                "strength": one.strength,
                "confidence": one.confidence,
                "metadata": one.metadata or None,
                "changedBy": one.changed_by,
            },
            one,
            one.reinforced,
        )
        for one in graph.relations
    )
    changes = (
        {
            "at": format_timestamp(one.at),
            "kind": one.kind,
            "action": one.action,
            "name": one.name,
            "detail": one.detail,
            "changedBy": one.changed_by,
        }
        for one in graph.changes
    )
    yield '{"entities":['
    yield from _lines(entities)
    yield '],"relations":['
    yield from _lines(relations)
    yield f'],"aliases":{json.dumps(graph.aliases, ensure_ascii=False)},"changes":['
    yield from _lines(changes)
    yield "]}"


def _plain(values: dict[str, Any], one: Record, reinforced: int | None = None) -> dict[str, Any]:
    """Add the times of a record, and leave out what is not set."""
    valid, recorded = one.times.valid, one.times.recorded
    record = {
        "at": format_timestamp(recorded.start),
        "until": format_timestamp(recorded.end),
        "reinforced": None if reinforced is None else format_timestamp(reinforced),
        "changedBy": one.changed_by if isinstance(one, ObservationRecord) else None,
        "deleted": one.deleted or None,
    }
    times = {
        "validFrom": format_timestamp(valid.start),
        "validTo": format_timestamp(valid.end),
        "record": _without_none(record),
    }
    return _without_none({**values, **times})


def _is_present(one: EntityRecord) -> bool:
    return one.times.recorded.end == FOREVER and not one.deleted


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _lines(items: Iterable[Any]) -> Iterator[str]:
    before = ""
    for item in items:
        yield before + json.dumps(item, ensure_ascii=False)
        before = ","
