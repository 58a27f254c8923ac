"""Tools that read: read_graph, open_nodes, get_relation, traverse_graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import Server, ToolError, ToolResult
from dovetail_graph.answers import answer, describe, tool
from dovetail_graph.inputs import (
    AsOf,
    Cursor,
    EntityType,
    Field,
    Limit,
    MaxChars,
    MaxObservations,
    Name,
    RelationType,
)
from dovetail_graph.memory import Memory, require_entity, similar_names, view_at
from dovetail_graph.records import EntityRecord, RelationKey
from dovetail_graph.rendering import (
    MAX_CHARS,
    Detail,
    decode_cursor,
    encode_cursor,
    render,
    render_relation,
    render_relations,
    with_decay,
)
from dovetail_graph.results import (
    GraphPage,
    Missing,
    Opened,
    RelationFound,
    Traversal,
    Visited,
)
from dovetail_graph.storage import Page, Reader
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import ANY_TIME, FOREVER, View, format_timestamp
from dovetail_graph.traversal import Walk, shortest_path, traverse
from dovetail_serverkit.text_budget import Budget
from dovetail_serverkit.tool_descriptions import READS

__all__ = [
    "RELATION_SCHEMA",
    "PageRequest",
    "add_read_tools",
    "make_detail",
    "read_page",
]

_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
# `from` is a Python keyword, so this schema is not derived from a function signature.
RELATION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {**_NAME, "description": "The source entity."},
        "to": {**_NAME, "description": "The target entity."},
        "relationType": {"type": "string", "minLength": 1, "maxLength": 100},
    },
    "required": ["from", "to", "relationType"],
    "additionalProperties": False,
}
_MAX_NODES = 2_000
_MAX_STEPS = 10


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Selects a part of the graph."""

    limit: int = 100
    cursor: str | None = None
    types: tuple[str, ...] = ()
    center: str | None = None
    depth: int = 1
    max_chars: int = MAX_CHARS


def read_page(reader: Reader, view: View, which: PageRequest, detail: Detail) -> GraphPage:
    """Return a page of the graph ordered by name, so that paging never skips an entity."""
    after = str(decode_cursor(which.cursor, str) or "")
    limit = which.limit or -1
    if which.center is None:
        total = reader.count_entities(view, which.types)
        # Never read more entities than fit into a result.
        most = min(limit, _MAX_NODES) if limit > 0 else which.max_chars // 20
        entities = reader.entities(view, Page(which.types, after, most + 1))
    else:
        around = _around(reader, view, which)
        total = len(around)
        entities = [one for one in around if one.name > after]
        most = limit if limit > 0 else len(entities)
    shown = render(reader, view, entities[:most], detail, Budget(which.max_chars))
    count = len(shown.entities)
    has_more = count < len(entities)
    if has_more and count == 0:
        raise ToolError("maxChars is too small for a single entity; increase it")
    return GraphPage(
        entities=shown.entities,
        relations=shown.relations,
        total=total,
        has_more=has_more,
        next_cursor=encode_cursor(shown.entities[-1].name) if has_more else None,
        relations_left_out=shown.relations_left_out,
        valid_at=format_timestamp(view.moment(reader.now())),
        recorded_at=format_timestamp(FOREVER if view.recorded is None else view.recorded),
    )


def _around(reader: Reader, view: View, which: PageRequest) -> list[EntityRecord]:
    center = require_entity(reader, normalize(which.center or ""), view)
    walk = traverse(reader, view, [center], Walk(which.depth, limit=_MAX_NODES))
    found = reader.entities_named(sorted(walk.distances), view)
    return [one for one in found if not which.types or one.kind in which.types]


def make_detail(
    fields: Sequence[str] | None, names_only: bool, max_observations: int, default: frozenset[str]
) -> Detail:
    """Return the detail that the arguments of a tool ask for."""
    chosen = default if fields is None else frozenset(fields)
    return Detail(frozenset() if names_only else chosen, max_observations)


def _show_statuses(detail: Detail, reader: Reader, view: View) -> Detail:
    """Return a detail that marks what is not true now, for a view of any time."""
    return replace(detail, now=reader.now()) if view.valid is None else detail


def add_read_tools(server: Server, memory: Memory) -> None:
    """Register the tools."""

    @tool(
        server,
        "read_graph",
        "Read the graph one page at a time, ordered by name: entities with their first "
        "observations and outgoing relations. Pass nextCursor as cursor while hasMore is true. "
        "limit=0 returns as many as maxChars allows.",
        READS,
        GraphPage,
    )
    def read_graph(  # noqa: PLR0913 - the tool's own parameters, all optional
        limit: Annotated[int, Meta(ge=0, le=1000)] = 100,
        cursor: Cursor = None,
        entity_types: list[EntityType] | None = None,
        names_only: Annotated[bool, "Return names and types only."] = False,
        fields: Annotated[list[Field] | None, "What to include for each entity."] = None,
        maxObservations: MaxObservations = 10,
        center: Annotated[Name | None, "Only entities within `depth` steps of this one."] = None,
        depth: Annotated[int, Meta(ge=0, le=5)] = 1,
        maxChars: MaxChars = MAX_CHARS,
        random_string: Annotated[
            str | None, "Ignored; for clients that cannot send empty arguments."
        ] = None,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entity_types or ()), center, depth, maxChars)
        with memory.store.reading() as reader:
            return answer(read_page(reader, View(reader.now()), which, detail))

    @tool(
        server,
        "open_nodes",
        "Read entities by name, with observations, times, and incoming and outgoing relations. "
        "depth adds their neighbors. Former names are accepted; unknown names are returned with "
        "similar ones.",
        READS,
        Opened,
    )
    def open_nodes(
        names: Annotated[list[Name], Meta(min_length=1, max_length=200)],
        depth: Annotated[int, Meta(ge=0, le=3)] = 0,
        asOf: AsOf = None,
        fields: Annotated[list[Field] | None, "What to include for each entity."] = None,
        maxObservations: MaxObservations = 100,
        maxChars: MaxChars = MAX_CHARS,
    ) -> ToolResult:
        default = frozenset({"details", "relations", "times"})
        with memory.store.reading() as reader:
            view = view_at(reader, asOf, ANY_TIME)
            detail = make_detail(fields, False, maxObservations, default)
            detail = with_decay(detail, memory.decay, view.moment(reader.now()))
            detail = _show_statuses(detail, reader, view)
            return answer(_open(reader, view, names, depth, detail, Budget(maxChars)))

    @server.tool(
        **describe(
            "get_relation",
            "Read one relation, with its recorded and its decayed confidence. found is false if it "
            "does not exist.",
            READS,
            RelationFound,
        ),
        input_schema=RELATION_SCHEMA,
    )
    def get_relation(**given: Any) -> ToolResult:
        with memory.store.reading() as reader:
            ends = [reader.find(normalize(given[end])) for end in ("from", "to")]
            key = RelationKey(ends[0], ends[1], normalize(given["relationType"]))
            now = reader.now()
            found = reader.relation(key, ANY_TIME)
        if found is None:
            return answer(RelationFound(found=False))
        shown = render_relation(found, Detail(frozenset({"times"}), now=now))
        left = memory.decay.apply(found.confidence, found.reinforced, now, key.kind)
        shown.current_confidence = round(left, 6)
        return answer(RelationFound(found=True, relation=shown))

    @tool(
        server,
        "traverse_graph",
        "Follow relations from entities: everything within `depth` steps (neighbors), or a "
        "shortest path to `target` (shortest_path).",
        READS,
        Traversal,
    )
    def traverse_graph(
        start: Annotated[list[Name], Meta(min_length=1, max_length=50)],
        depth: Annotated[
            Annotated[int, Meta(ge=1, le=10)] | None,
            "Default: 1, or 10 for shortest_path.",
        ] = None,
        direction: Literal["out", "in", "both"] = "both",
        relationTypes: list[RelationType] | None = None,
        mode: Literal["neighbors", "shortest_path"] = "neighbors",
        target: Annotated[Name | None, "For shortest_path: the entity to reach."] = None,
        limit: Limit = 100,
        asOf: AsOf = None,
    ) -> ToolResult:
        if (mode == "shortest_path") != (target is not None):
            raise ToolError("`target` is required with mode shortest_path, and only with it")
        steps = depth or (1 if target is None else _MAX_STEPS)
        walk = Walk(steps, direction, frozenset(relationTypes or ()), limit)
        with memory.store.reading() as reader:
            view = view_at(reader, asOf)
            begin = [require_entity(reader, normalize(name), view) for name in start]
            if target is None:
                traverse(reader, view, begin, walk)
                return answer(_render_walk(reader, view, walk))
            walk.limit = max(limit, 10_000)
            goal = require_entity(reader, normalize(target), view)
            path = shortest_path(reader, view, begin, goal, walk)
            on_path = set(pairwise(path))
            walk.edges = {
                key: edge
                for key, edge in walk.edges.items()
                if {(key.source, key.target), (key.target, key.source)} & on_path
            }
            walk.distances = {name: at for at, name in enumerate(path)}
            result = _render_walk(reader, view, walk)
            result.paths = [path] if path else []
            if not path:
                result.note = (
                    f"No path from {', '.join(begin)[:400]} to {goal} within {steps} steps"
                    + (f" in direction {direction!r}" if direction != "both" else "")
                    + (f" over {', '.join(relationTypes)[:400]}" if relationTypes else "")
                    + (": the graph is too large to look further" if walk.is_truncated else "")
                )
            return answer(result)


def _render_walk(reader: Reader, view: View, walk: Walk) -> Traversal:
    budget = Budget(MAX_CHARS)
    nodes: list[Visited] = []
    truncated = walk.is_truncated
    for entity in reader.entities_named(list(walk.distances), view):
        distance = walk.distances[entity.name]
        node = Visited(name=entity.name, entity_type=entity.kind, distance=distance)
        if not budget.take(node):
            truncated = True
            break
        nodes.append(node)
    names = {node.name for node in nodes}
    inside = [
        edge for key, edge in walk.edges.items() if key.source in names and key.target in names
    ]
    edges = render_relations(inside, Detail(), budget)
    return Traversal(
        nodes=nodes, edges=edges, paths=[], truncated=truncated or len(edges) < len(inside)
    )


def _open(
    reader: Reader, view: View, names: Sequence[str], depth: int, detail: Detail, budget: Budget
) -> Opened:
    found: list[str] = []
    missing: list[Missing] = []
    for name in dict.fromkeys(map(normalize, names)):
        known = name if reader.entity(name, view) is not None else reader.find(name)
        if reader.entity(known, view) is None:
            one = Missing(name=name, did_you_mean=similar_names(reader, name))
            budget.take(one)
            missing.append(one)
        elif known not in found:
            found.append(known)
    if depth:
        found = list(traverse(reader, view, found, Walk(depth, limit=_MAX_NODES)).distances)
    entities = reader.entities_named(found, view)
    plain = replace(detail, fields=detail.fields - {"relations"})
    shown = render(reader, view, entities, plain, budget).entities
    for node in shown:
        node.aliases = reader.aliases(node.name) or None
    opened = [node.name for node in shown]
    relations = (
        reader.relations(view, sources=opened, targets=opened)
        if "relations" in detail.fields
        else []
    )
    fitting = render_relations(relations, detail, budget)
    return Opened(
        entities=shown,
        relations=fitting,
        found=len(found),
        missing=missing,
        left_out=[name for name in found if name not in set(opened)][:50],
        relations_left_out=len(relations) - len(fitting),
    )
