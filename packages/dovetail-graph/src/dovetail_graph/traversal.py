"""Walks over relations, level by level, each level one look into the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dovetail_graph.moments import View
from dovetail_graph.records import RelationKey, RelationRecord
from dovetail_graph.storage import Reader

__all__ = ["Walk", "reach", "shortest_path"]


@dataclass(slots=True)
class Walk:
    """Which way to go, and what was seen on it."""

    depth: int
    direction: str = "both"
    kinds: frozenset[str] = frozenset()
    limit: int = 100
    distances: dict[str, int] = field(default_factory=dict)
    edges: dict[RelationKey, RelationRecord] = field(default_factory=dict)
    # By whom each entity was reached first.
    parents: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False


def reach(reader: Reader, view: View, start: Sequence[str], walk: Walk, target: str = "") -> Walk:
    """Everything within so many steps, until `limit` entities or the target are seen."""
    walk.distances = dict.fromkeys(start, 0)
    frontier = list(walk.distances)
    for distance in range(1, walk.depth + 1):
        reached: list[str] = []
        for edge, name, parent in _leave(reader, view, frontier, walk):
            if name not in walk.distances:
                if len(walk.distances) >= walk.limit:
                    walk.is_cut = True
                    continue
                walk.distances[name] = distance
                walk.parents[name] = parent
                reached.append(name)
            walk.edges[edge.key] = edge
        frontier = reached
        if not frontier or target in walk.distances:
            break
    return walk


def _leave(
    reader: Reader, view: View, frontier: Sequence[str], walk: Walk
) -> list[tuple[RelationRecord, str, str]]:
    """The edges that lead on from here, each with where it leads and whence."""
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
    """The names on a shortest way to the target; empty where there is none."""
    reach(reader, view, start, walk, target)
    if target not in walk.distances:
        return []
    path = [target]
    while path[-1] in walk.parents:
        path.append(walk.parents[path[-1]])
    return path[::-1]
