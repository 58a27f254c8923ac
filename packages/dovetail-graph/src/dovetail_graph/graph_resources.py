"""Resources: statistics, recent changes, entities, charts; with update notifications."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import msgspec

from dovetail import ResourceNotFoundError, Server
from dovetail_graph.import_export import Snapshot, draw_mermaid
from dovetail_graph.inputs import MAX_CHARS
from dovetail_graph.maintenance_tools import collect_stats
from dovetail_graph.memory import Memory, explain_missing
from dovetail_graph.rendering import Detail, render, render_relations
from dovetail_graph.storage import ChangeFilter
from dovetail_graph.text_normalization import normalize
from dovetail_graph.timestamps import ANY_TIME, EARLIEST, FOREVER, View, format_timestamp
from dovetail_graph.traversal import Walk, traverse
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = ["add_graph_resources", "complete_name", "notify_changes"]

_MAX_SUGGESTED = 101
_RECENT = 50
_MAX_DRAWN = 60
_JSON = "application/json"


def add_graph_resources(server: Server, memory: Memory) -> None:
    """Register the resources."""

    @server.resource(
        "graph://stats", name="stats", title="Statistics of the graph", mime_type=_JSON
    )
    def stats() -> Any:
        """Counts by type, the most connected entities, likely duplicates."""
        with memory.store.reading() as reader:
            return msgspec.to_builtins(collect_stats(reader, memory))

    @server.resource("graph://recent", name="recent", title="Recent changes", mime_type=_JSON)
    def recent() -> Any:
        """The last 50 changes, the newest first."""
        with memory.store.reading() as reader:
            found = reader.changes(ChangeFilter(EARLIEST, FOREVER, limit=_RECENT))
        return {
            "changes": [
                {
                    "at": format_timestamp(one.at),
                    "kind": one.kind,
                    "action": one.action,
                    "name": one.name,
                    "detail": one.detail,
                }
                for one in found
            ]
        }

    @server.resource("graph://entity/{+name}", name="entity", title="An entity", mime_type=_JSON)
    def entity(name: str) -> Any:
        """An entity with its observations and relations."""
        with memory.store.reading() as reader:
            view, now = ANY_TIME, reader.now()
            known = reader.find(normalize(name))
            record = reader.entity(known, view)
            if record is None:
                uri = f"graph://entity/{quote(name[:200], safe='')}"
                raise ResourceNotFoundError(uri, explain_missing(reader, name))
            budget = AnswerBudget(MAX_CHARS)
            detail = Detail(frozenset({"details", "times"}), 200, now=now)
            [shown] = render(reader, view, [record], detail, budget).entities
            relations = reader.relations(view, sources=[known], targets=[known])
            fitting = render_relations(relations, Detail(now=now), budget)
        return {
            "entity": msgspec.to_builtins(shown),
            "relations": msgspec.to_builtins(fitting),
            "relationsLeftOut": len(relations) - len(fitting),
        }

    @server.resource(
        "graph://mermaid/{+name}", name="mermaid", title="A chart", mime_type="text/plain"
    )
    def mermaid(name: str) -> str:
        """The entities within two steps of an entity, as a Mermaid chart."""
        with memory.store.reading() as reader:
            view = View(reader.now())
            known = reader.find(normalize(name))
            if reader.entity(known, view) is None:
                uri = f"graph://mermaid/{quote(name[:200], safe='')}"
                raise ResourceNotFoundError(uri, explain_missing(reader, name))
            walk = traverse(reader, view, [known], Walk(2, limit=_MAX_DRAWN))
            entities = reader.entities_named(list(walk.distances), view)
        return "\n".join(draw_mermaid(Snapshot(entities, {}, list(walk.edges.values()))))

    def names(typed: str) -> list[str]:
        return complete_name(memory, typed)

    for template in ("graph://entity/{+name}", "graph://mermaid/{+name}"):
        server.complete(template, "name")(names)


def complete_name(memory: Memory, typed: str) -> list[str]:
    """Return names that start with the input, then names with similar spelling."""
    with memory.store.reading() as reader:
        names = reader.names_starting_with(typed, _MAX_SUGGESTED)
        if len(names) < 10:
            names += [match.name for match in reader.match_spelling(typed, 10)]
    return list(dict.fromkeys(names))


async def notify_changes(server: Server, memory: Memory, interval: float) -> None:
    """Poll the change log and send notifications, also for changes by other processes."""

    def poll(seen: int) -> tuple[int, list[str]]:
        with memory.store.reading() as reader:
            last = reader.last_change()
            if last == seen:
                return last, []
            recent = reader.changes(ChangeFilter(EARLIEST, FOREVER, limit=min(last - seen, 500)))
        return last, [one.name for one in recent if one.sequence > seen]

    seen, _ = await asyncio.to_thread(poll, 0)
    while True:
        await asyncio.sleep(interval)
        last, names = await asyncio.to_thread(poll, seen)
        if last == seen:
            continue
        seen = last
        for name in dict.fromkeys(names):
            quoted = quote(name, safe="")
            server.resource_updated(f"graph://entity/{quoted}")
            server.resource_updated(f"graph://mermaid/{quoted}")
        server.resource_updated("graph://recent")
        server.resource_updated("graph://stats")
