"""Breadth-first traversal of relations, with one query per level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dovetail_graph.records import RelationKey, RelationRecord
from dovetail_graph.storage import Reader
from dovetail_graph.timestamps import View

__all__ = ["Walk", "shortest_path", "traverse"]


@dataclass(slots=True)
class Walk:
    """The parameters of a traversal, and its result."""

    depth: int
    direction: str = "both"
    kinds: frozenset[str] = frozenset()
    limit: int = 100
    distances: dict[str, int] = field(default_factory=dict)
    edges: dict[RelationKey, RelationRecord] = field(default_factory=dict)
    # The entity from which each entity was first reached.
    parents: dict[str, str] = field(default_factory=dict)
    is_truncated: bool = False


def traverse(
    reader: Reader, view: View, start: Sequence[str], walk: Walk, target: str = ""
) -> Walk:
    """Visit everything within `depth` steps, until `limit` entities or the target are reached."""
    walk.distances = dict.fromkeys(start, 0)
    frontier = list(walk.distances)
    for distance in range(1, walk.depth + 1):
        reached: list[str] = []
        for edge, name, parent in _edges(reader, view, frontier, walk):
            if name not in walk.distances:
                if len(walk.distances) >= walk.limit:
                    walk.is_truncated = True
                    continue
                walk.distances[name] = distance
                walk.parents[name] = parent
                reached.append(name)
            walk.edges[edge.key] = edge
        frontier = reached
        if not frontier or target in walk.distances:
            break
    return walk


def _edges(
    reader: Reader, view: View, frontier: Sequence[str], walk: Walk
) -> list[tuple[RelationRecord, str, str]]:
    """Return the edges at the frontier, each with the entity it leads to and from."""
    inside = set(frontier)
    out = frontier if walk.direction in ("out", "both") else ()
    into = frontier if walk.direction in ("in", "both") else ()
    found = []
    for edge in reader.relations(view, sources=out, targets=into):
        if walk.kinds and edge.key.kind not in walk.kinds:
            continue
        if out and edge.key.source in inside:
            found.append((edge, edge.key.target, edge.key.source))
        if into and edge.key.target in inside:
            found.append((edge, edge.key.source, edge.key.target))
    return found


def shortest_path(
    reader: Reader, view: View, start: Sequence[str], target: str, walk: Walk
) -> list[str]:
    """Return the names on a shortest path to the target, or an empty list if there is none."""
    traverse(reader, view, start, walk, target)
    if target not in walk.distances:
        return []
    path = [target]
    while path[-1] in walk.parents:
        path.append(walk.parents[path[-1]])
    return path[::-1]
