"""Tools that read: read_graph, open_nodes, get_relation, traverse_graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Literal

from dovetail import ToolError, ToolResult
from dovetail_graph.answers import answer
from dovetail_graph.inputs import HIDDEN, MAX_CHARS, AsOf, Field, bounded
from dovetail_graph.memory import Memory, require_entity, similar_names, view_at
from dovetail_graph.records import EntityRecord, RelationKey
from dovetail_graph.rendering import (
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
from dovetail_graph.toolbox import Toolbox
from dovetail_graph.traversal import Walk, shortest_path, traverse
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = [
    "RELATION_SCHEMA",
    "PageRequest",
    "add_read_tools",
    "limit_of",
    "make_detail",
    "read_page",
]

_TEXT = {"type": "string"}
# `from` is a Python keyword, so this schema is not derived from a function signature.
RELATION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"from": _TEXT, "to": _TEXT, "relationType": _TEXT},
    "required": ["from", "to", "relationType"],
    "additionalProperties": False,
}
_MAX_NODES = 2_000
_MAX_NAMES = 200
_MAX_STARTS = 50
_MIN_CHARS = 1_000
_MOST_CHARS = 1_000_000
_MAX_STEPS = 10
# Characters of a name that an answer repeats.
_MAX_ECHO = 200


class PageRequest:
    """Selects a part of the graph."""

    def __init__(
        self,
        limit: int = 100,
        cursor: str | None = None,
        types: tuple[str, ...] = (),
        center: str | None = None,
        depth: int = 1,
        max_chars: int = MAX_CHARS,
    ) -> None:
        self.limit = bounded(limit, 0, 1_000)
        self.cursor = cursor
        self.types = types
        self.center = center
        self.depth = bounded(depth, 0, 5)
        self.max_chars = limit_of(max_chars)


def limit_of(max_chars: int) -> int:
    """Return the limit of an answer that maxChars means. Raises ToolError if it is too small."""
    if max_chars < _MIN_CHARS:
        raise ToolError(f"maxChars must be at least {_MIN_CHARS}, got {max_chars}")
    return min(max_chars, _MOST_CHARS)


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
    shown = render(reader, view, entities[:most], detail, AnswerBudget(which.max_chars))
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
    return Detail(frozenset() if names_only else chosen, bounded(max_observations, 0, 1_000))


def _show_statuses(detail: Detail, reader: Reader, view: View) -> Detail:
    """Return a detail that marks what is not true now, for a view of any time."""
    return replace(detail, now=reader.now()) if view.valid is None else detail


def add_read_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add(
        "read_graph",
        "The graph as it is now, one page at a time, ordered by name.",
        READS,
        GraphPage,
    )
    def read_graph(  # noqa: PLR0913 - the tool's own parameters, all optional
        limit: int = 100,
        cursor: str | None = None,
        entity_types: list[str] | None = None,
        center: Annotated[str | None, "Only entities near this one."] = None,
        maxChars: int = MAX_CHARS,
        random_string: Annotated[str | None, "Ignored."] = None,
        names_only: Annotated[bool, HIDDEN] = False,
        fields: Annotated[list[Field] | None, HIDDEN] = None,
        maxObservations: Annotated[int, HIDDEN] = 10,
        depth: Annotated[int, HIDDEN] = 1,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entity_types or ()), center, depth, maxChars)
        with memory.store.reading() as reader:
            return answer(read_page(reader, View(reader.now()), which, detail), which.max_chars)

    @tools.add(
        "open_nodes",
        "Entities by name with everything about them: observations, times, relations in both "
        "directions. Former names work; unknown ones get suggestions.",
        READS,
        Opened,
    )
    def open_nodes(
        names: list[str],
        depth: Annotated[int, "Neighbors up to 3 steps away."] = 0,
        asOf: AsOf = None,
        maxChars: int = MAX_CHARS,
        fields: Annotated[list[Field] | None, HIDDEN] = None,
        maxObservations: Annotated[int, HIDDEN] = 100,
    ) -> ToolResult:
        default = frozenset({"details", "relations", "times"})
        most = limit_of(maxChars)
        if not 1 <= len(names) <= _MAX_NAMES:
            raise ToolError(f"names must have 1 to {_MAX_NAMES} names, got {len(names)}")
        with memory.store.reading() as reader:
            view = view_at(reader, asOf, ANY_TIME)
            detail = make_detail(fields, False, maxObservations, default)
            detail = with_decay(detail, memory.decay, view.moment(reader.now()))
            detail = _show_statuses(detail, reader, view)
            steps = bounded(depth, 0, 3)
            return answer(_open(reader, view, names, steps, detail, AnswerBudget(most)), most)

    @tools.add(
        "get_relation",
        "One relation, with recorded and decayed confidence.",
        READS,
        RelationFound,
        RELATION_SCHEMA,
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

    @tools.add(
        "traverse_graph",
        "Entities within `depth` steps of `start` (default 1), or a shortest path to `target`.",
        READS,
        Traversal,
    )
    def traverse_graph(
        start: list[str],
        target: str | None = None,
        depth: int | None = None,
        direction: Literal["out", "in", "both"] = "both",
        relationTypes: list[str] | None = None,
        asOf: AsOf = None,
        mode: Annotated[Literal["neighbors", "shortest_path"] | None, HIDDEN] = None,
        limit: Annotated[int, HIDDEN] = 100,
    ) -> ToolResult:
        if mode is not None and (mode == "shortest_path") != (target is not None):
            raise ToolError("`target` is required with mode shortest_path, and only with it")
        if not 1 <= len(start) <= _MAX_STARTS:
            raise ToolError(f"start must have 1 to {_MAX_STARTS} names, got {len(start)}")
        steps = bounded(depth or (1 if target is None else _MAX_STEPS), 1, _MAX_STEPS)
        walk = Walk(steps, direction, frozenset(relationTypes or ()), bounded(limit, 1, 500))
        with memory.store.reading() as reader:
            view = view_at(reader, asOf)
            begin = [require_entity(reader, normalize(name), view) for name in start]
            if target is None:
                traverse(reader, view, begin, walk)
                return answer(_render_walk(reader, view, walk))
            walk.limit = 10_000
            goal = require_entity(reader, normalize(target), view)
            path = shortest_path(reader, view, begin, goal, walk)
            on_path = set(pairwise(path))
            walk.edges = {
                key: edge
                for key, edge in walk.edges.items()
                if {(key.source, key.target), (key.target, key.source)} & on_path
            }
            walk.distances = {name: at for at, name in enumerate(path)}
            result = _render_walk(reader, view, walk, path)
        if not path:
            result.note = (
                f"No path from {', '.join(begin)[:400]} to {goal} within {steps} steps"
                + (f" in direction {direction!r}" if direction != "both" else "")
                + (f" over {', '.join(relationTypes)[:400]}" if relationTypes else "")
                + (": the graph is too large to look further" if walk.is_truncated else "")
            )
        return answer(result)


def _render_walk(
    reader: Reader, view: View, walk: Walk, path: list[str] | None = None
) -> Traversal:
    budget = AnswerBudget(MAX_CHARS)
    # A path is in the answer too.
    budget.fitting(path or [])
    entities = reader.entities_named(list(walk.distances), view)
    nodes = budget.fitting(
        Visited(name=one.name, entity_type=one.kind, distance=walk.distances[one.name])
        for one in entities
    )
    truncated = walk.is_truncated or len(nodes) < len(entities)
    names = {node.name for node in nodes}
    inside = [
        edge for key, edge in walk.edges.items() if key.source in names and key.target in names
    ]
    edges = render_relations(inside, Detail(), budget)
    return Traversal(
        nodes=nodes,
        edges=edges,
        paths=[path] if path else [],
        truncated=truncated or len(edges) < len(inside),
    )


def _open(
    reader: Reader,
    view: View,
    names: Sequence[str],
    depth: int,
    detail: Detail,
    budget: AnswerBudget,
) -> Opened:
    found: list[str] = []
    missing: list[str] = []
    for name in dict.fromkeys(map(normalize, names)):
        known = name if reader.entity(name, view) is not None else reader.find(name)
        if reader.entity(known, view) is None:
            missing.append(name)
        elif known not in found:
            found.append(known)
    if depth:
        found = list(traverse(reader, view, found, Walk(depth, limit=_MAX_NODES)).distances)
    entities = reader.entities_named(found, view)
    plain = replace(detail, fields=detail.fields - {"relations"})
    unknown = budget.fitting(
        Missing(name=name[:_MAX_ECHO], did_you_mean=similar_names(reader, name)) for name in missing
    )
    shown = render(reader, view, entities, plain, budget).entities
    for node in shown:
        node.aliases = budget.fitting(reader.aliases(node.name)) or None
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
        missing=unknown,
        missing_left_out=len(missing) - len(unknown),
        left_out=budget.fitting([name for name in found if name not in set(opened)][:50]),
        relations_left_out=len(relations) - len(fitting),
    )
