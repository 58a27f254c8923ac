"""Formats that hold the present graph, without history.

jsonl is the format of the reference memory server; GraphML and Mermaid are for drawing and can only
be exported. The json format, which holds everything, is in full_export.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

import msgspec

from dovetail_graph.inputs import NewEntity, NewRelation
from dovetail_graph.records import EntityRecord, ObservationRecord, RelationRecord
from dovetail_graph.storage import Page, Reader
from dovetail_graph.timestamps import View

__all__ = ["WRITERS", "Snapshot", "draw_mermaid", "read_lines", "take_snapshot"]

_CHUNK = 500
# Characters that XML 1.0 does not allow, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole graph at one view."""

    entities: list[EntityRecord]
    observations: dict[str, list[ObservationRecord]]
    relations: list[RelationRecord]


def take_snapshot(reader: Reader, view: View) -> Snapshot:
    """Read the whole graph."""
    entities = reader.entities(view, Page())
    observations: dict[str, list[ObservationRecord]] = {}
    relations: list[RelationRecord] = []
    for start in range(0, len(entities), _CHUNK):
        names = [one.name for one in entities[start : start + _CHUNK]]
        for one in reader.observations(names, view):
            observations.setdefault(one.entity, []).append(one)
        relations += reader.relations(view, sources=names)
    return Snapshot(entities, observations, relations)


def _json_lines(graph: Snapshot) -> Iterator[str]:
    for entity in graph.entities:
        known = [one.content for one in graph.observations.get(entity.name, [])]
        line = {"type": "entity", "name": entity.name, "entityType": entity.kind}
        yield json.dumps({**line, "observations": known}, ensure_ascii=False)
    for one in graph.relations:
        ends = {"from": one.key.source, "to": one.key.target, "relationType": one.key.kind}
        yield json.dumps({"type": "relation", **ends}, ensure_ascii=False)


def _graphml(graph: Snapshot) -> Iterator[str]:
    def text(value: str) -> str:
        return escape(_NOT_XML.sub("\ufffd", value))

    def attribute(value: str) -> str:
        return quoteattr(_NOT_XML.sub("\ufffd", value))

    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for name, place, kind in (
        ("entityType", "node", "string"),
        ("observations", "node", "string"),
        ("relationType", "edge", "string"),
        ("strength", "edge", "double"),
        ("confidence", "edge", "double"),
    ):
        yield f'<key id="{name}" for="{place}" attr.name="{name}" attr.type="{kind}"/>'
    yield '<graph edgedefault="directed">'
    for entity in graph.entities:
        known = "\n".join(one.content for one in graph.observations.get(entity.name, []))
        yield (
            f"<node id={attribute(entity.name)}>"
            f'<data key="entityType">{text(entity.kind)}</data>'
            f'<data key="observations">{text(known)}</data></node>'
        )
    for one in graph.relations:
        yield (
            f"<edge source={attribute(one.key.source)} target={attribute(one.key.target)}>"
            f'<data key="relationType">{text(one.key.kind)}</data>'
            f'<data key="strength">{one.strength}</data>'
            f'<data key="confidence">{one.confidence}</data></edge>'
        )
    yield "</graph></graphml>"


def draw_mermaid(graph: Snapshot) -> Iterator[str]:
    """Return the lines of a Mermaid flow chart; names are quoted and escaped."""

    def quoted(value: str) -> str:
        return '"' + value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;") + '"'

    numbers = {entity.name: f"e{number}" for number, entity in enumerate(graph.entities)}
    yield "graph LR"
    for entity in graph.entities:
        yield f"  {numbers[entity.name]}[{quoted(entity.name)}]"
    for one in graph.relations:
        if one.key.source in numbers and one.key.target in numbers:
            ends = numbers[one.key.source], numbers[one.key.target]
            yield f"  {ends[0]} -->|{quoted(one.key.kind)}| {ends[1]}"


WRITERS: dict[str, Callable[[Snapshot], Iterator[str]]] = {
    "jsonl": _json_lines,
    "graphml": _graphml,
    "mermaid": draw_mermaid,
}


class _EntityLine(NewEntity, tag_field="type", tag="entity"):
    pass


class _RelationLine(NewRelation, tag_field="type", tag="relation"):
    pass


def read_lines(text: str) -> Iterator[NewEntity | NewRelation | str]:
    """Yield the entities, then the relations, of jsonl; a str is the error of an invalid line."""
    decode = msgspec.json.Decoder(_EntityLine | _RelationLine).decode
    relations: list[NewRelation] = []
    # Not splitlines: strings in JSON may contain other line separators, such as U+2028.
    for number, match in enumerate(re.finditer(r"[^\n]*\n?", text), 1):
        if line := match[0].strip():
            try:
                item = decode(line)
            except msgspec.ValidationError as error:
                yield f"line {number}: {error}"
                continue
            if isinstance(item, NewRelation):
                relations.append(item)
            else:
                yield item
    yield from relations
