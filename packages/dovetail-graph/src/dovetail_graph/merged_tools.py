"""Three tools in place of many, for --tools compact: one search, one read, one edit."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from dovetail import ToolError, ToolResult
from dovetail_graph import mutations
from dovetail_graph.answers import batch_answer, reject_partial
from dovetail_graph.inputs import (
    AsOf,
    NewEntity,
    NewObservations,
    NewRelation,
    ObservationDeletion,
    RelationName,
    Time,
)
from dovetail_graph.memory import Memory
from dovetail_graph.results import BatchResult, Outcome
from dovetail_graph.storage import Writer
from dovetail_graph.text_limits import MAX_ITEMS
from dovetail_graph.timestamps import format_timestamp
from dovetail_graph.toolbox import Toolbox
from dovetail_serverkit.tool_descriptions import EDITS, READS

__all__ = ["add_merged_tools"]


_OVERVIEWS = {"stats": "graph_stats", "changes": "recent_changes"}


class Deletions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What to delete."""

    entities: list[str] = []
    observations: list[ObservationDeletion] = []
    relations: list[RelationName] = []


def add_merged_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add(
        "memory_search",
        "Search entities. by=meaning compares meaning and words; the others are words, beginnings, "
        "spelling and whole texts. Facts that have ended are marked and ranked lower.",
        READS,
        None,
    )
    def memory_search(
        query: str,
        by: Literal["meaning", "words", "prefix", "fuzzy", "exact"] = "meaning",
        entity_types: list[str] | None = None,
        limit: int = 10,
        cursor: str | None = None,
        asOf: AsOf = None,
    ) -> ToolResult:
        given = {"query": query, "entity_types": entity_types, "limit": limit, "asOf": asOf}
        if by == "meaning":
            if cursor is not None:
                raise ToolError("by=meaning has one page; increase `limit` instead of `cursor`")
            return _call(tools, "semantic_search", given)
        return _call(tools, "search_nodes", {**given, "match": by, "cursor": cursor})

    @tools.add(
        "memory_read",
        "Read entities by `names` with all observations and relations; `depth` adds neighbors, "
        "`target` finds a shortest path, `history` shows all versions. `relation` reads one "
        "relation. Without these: the graph, or its statistics or last changes (`overview`). "
        "recorded_at: what was known at that time about asOf.",
        READS,
        None,
    )
    def memory_read(  # noqa: PLR0913 - the tool's own parameters, all optional
        names: list[str] | None = None,
        depth: int | None = None,
        target: str | None = None,
        relation: RelationName | None = None,
        history: bool = False,
        overview: Literal["stats", "changes"] | None = None,
        entity_types: list[str] | None = None,
        asOf: AsOf = None,
        recorded_at: Time | None = None,
        cursor: str | None = None,
    ) -> ToolResult:
        page: dict[str, Any] = {"entity_types": entity_types, "cursor": cursor}
        given: dict[str, Any]
        if overview is not None:
            name, given = _OVERVIEWS[overview], {"cursor": cursor} if overview == "changes" else {}
        elif relation is not None:
            name = "get_relation_history" if history else "get_relation"
            given = {**msgspec.to_builtins(relation), "cursor": cursor if history else None}
        elif names is None and asOf is None:
            name, given = "read_graph", page
        elif names is None:
            name = "get_graph_at_time"
            given = {"timestamp": asOf, "recorded_at": recorded_at or "now", **page}
        elif history:
            name, given = "get_entity_history", {"entityName": _only(names), "cursor": cursor}
        elif target is not None:
            name = "traverse_graph"
            given = {"start": names, "target": target, "depth": depth, "asOf": asOf}
        else:
            name, given = "open_nodes", {"names": names, "depth": depth, "asOf": asOf}
        return _call(tools, name, given)

    _add_edit(tools, memory)


def _add_edit(tools: Toolbox, memory: Memory) -> None:
    @tools.add(
        "memory_edit",
        "Change the memory in one step: record entities, observations and relations, correct "
        "(`replaces`, `updateRelations`), delete. Existing items are extended or reinforced, never "
        "replaced. validFrom and validTo: when it is true (default: from now on); give both for "
        "facts about the past. atomic: all or nothing.",
        EDITS,
        BatchResult,
    )
    def memory_edit(
        entities: list[NewEntity] = [],  # noqa: B006 - not changed
        observations: list[NewObservations] = [],  # noqa: B006
        relations: list[NewRelation] = [],  # noqa: B006
        updateRelations: list[NewRelation] = [],  # noqa: B006
        delete: Deletions | None = None,
        atomic: bool = False,
    ) -> ToolResult:
        gone = delete or Deletions()
        count = sum(len(some) for some in (entities, observations, relations, updateRelations))
        count += len(gone.entities) + len(gone.observations) + len(gone.relations)
        if not 1 <= count <= MAX_ITEMS:
            raise ToolError(f"Pass 1 to {MAX_ITEMS} items at once, got {count}")
        words = memory.vocabulary
        with memory.store.writing() as writer:
            outcomes = [mutations.create_entity(writer, one, words) for one in entities]
            outcomes += [
                mutations.add_observations(writer, one.entity_name, one.contents, None)
                for one in observations
            ]
            outcomes += [mutations.create_relation(writer, one, words) for one in relations]
            outcomes += [_update(writer, one) for one in updateRelations]
            outcomes += [
                mutations.delete_observations(writer, one, purge=False) for one in gone.observations
            ]
            outcomes += [
                mutations.delete_relation(writer, one, purge=False) for one in gone.relations
            ]
            outcomes += [
                mutations.delete_entity(writer, one, None, purge=False) for one in gone.entities
            ]
            reject_partial(outcomes, atomic)
            recorded = format_timestamp(writer.now())
        return batch_answer(outcomes, recorded)


def _call(tools: Toolbox, name: str, given: dict[str, Any]) -> ToolResult:
    """Call another tool with the arguments that are set."""
    arguments = {key: value for key, value in given.items() if value is not None}
    result: ToolResult = tools.functions[name](**arguments)
    return result


def _only(names: list[str]) -> str:
    if len(names) != 1:
        raise ToolError(f"history reads one entity; pass one name, got {len(names)}")
    return names[0]


def _update(writer: Writer, given: NewRelation) -> Outcome:
    try:
        return Outcome(
            name=mutations.label(mutations.update_relation(writer, given)), outcome="updated"
        )
    except ToolError as error:
        name = mutations.label(mutations.key_of(writer, given))
        return Outcome(name=name, outcome="rejected", reason=str(error))
