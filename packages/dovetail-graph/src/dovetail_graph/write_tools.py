"""Tools that create, update and delete entities, relations and observations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_graph import mutations
from dovetail_graph.answers import answer, batch_answer, describe, reject_partial, tool
from dovetail_graph.inputs import (
    ChangedBy,
    Name,
    NewEntity,
    NewObservations,
    NewRelation,
    ObservationDeletion,
    RelationName,
    Time,
)
from dovetail_graph.memory import Memory
from dovetail_graph.purge_confirmation import confirm_purge
from dovetail_graph.rendering import Detail, render_relation
from dovetail_graph.results import BatchResult, Outcome, RelationFound
from dovetail_graph.storage import Writer
from dovetail_graph.timestamps import View, format_timestamp, parse_timestamp
from dovetail_serverkit.tool_descriptions import CHANGES, DESTROYS

__all__ = ["add_write_tools"]

_Item = TypeVar("_Item")
_Atomic = Annotated[bool, "Reject the whole batch if one item is rejected."]
_Purge = Annotated[bool, "Erase permanently with all history; asks the user for confirmation."]
_Batch = Meta(min_length=1, max_length=1000)


def add_write_tools(server: Server, memory: Memory) -> None:
    """Register the tools."""

    @tool(
        server,
        "create_entities",
        "Create entities with observations. An existing entity is extended, never replaced. "
        "validFrom and validTo set the period of validity; the default starts now and has no end. "
        "Returns the outcome of each item.",
        CHANGES,
        BatchResult,
    )
    def create_entities(
        entities: Annotated[list[NewEntity], _Batch], atomic: _Atomic = False
    ) -> ToolResult:
        return _batch(
            memory,
            entities,
            lambda writer, one: mutations.create_entity(writer, one, memory.vocabulary),
            atomic,
        )

    @tool(
        server,
        "create_relations",
        "Create directed relations between entities. Use the active voice for types, like "
        "depends_on. An existing relation is reinforced: its confidence decays from now on. "
        "Defaults: strength 0.9, confidence 0.95.",
        CHANGES,
        BatchResult,
    )
    def create_relations(
        relations: Annotated[list[NewRelation], _Batch], atomic: _Atomic = False
    ) -> ToolResult:
        return _batch(
            memory,
            relations,
            lambda writer, one: mutations.create_relation(writer, one, memory.vocabulary),
            atomic,
        )

    @tool(
        server,
        "add_observations",
        "Add observations to entities: strings, or objects with source, confidence and period of "
        "validity. Existing observations are not added twice.",
        CHANGES,
        BatchResult,
    )
    def add_observations(
        observations: Annotated[list[NewObservations], _Batch],
        atomic: _Atomic = False,
        changedBy: ChangedBy = None,
    ) -> ToolResult:
        return _batch(
            memory,
            observations,
            lambda writer, one: mutations.add_observations(
                writer, one.entity_name, one.contents, changedBy
            ),
            atomic,
        )

    @tool(
        server,
        "update_relation",
        "Change strength, confidence or metadata of an existing relation; omitted values do not "
        "change. Writes a new version, whose confidence decays from its validFrom.",
        CHANGES,
        RelationFound,
    )
    def update_relation(relation: NewRelation) -> ToolResult:
        with memory.store.writing() as writer:
            key = mutations.update_relation(writer, relation)
            found = writer.relation(key, View(writer.now()))
        detail = Detail(frozenset({"times"}))
        shown = None if found is None else render_relation(found, detail)
        return answer(RelationFound(found=shown is not None, relation=shown))

    _add_deletions(server, memory)


def _add_deletions(server: Server, memory: Memory) -> None:
    async def delete_entities(
        ctx: Context,
        entityNames: Annotated[list[Name], _Batch],
        purge: _Purge = False,
        validTo: Annotated[Time | None, "End of validity; default: now."] = None,
        atomic: _Atomic = False,
    ) -> ToolResult:
        ended = parse_timestamp(validTo, "validTo")
        if purge and ended is not None:
            raise ToolError("purge erases all versions; do not pass validTo with it")

        def delete(writer: Writer, name: str) -> Outcome:
            at = writer.now() if validTo == "now" else ended
            return mutations.delete_entity(writer, name, at, purge)

        what = f"{len(entityNames)} entities ({', '.join(entityNames)[:200]})"
        return await _delete(ctx, memory, entityNames, delete, (atomic, what if purge else None))

    async def delete_observations(
        ctx: Context,
        deletions: Annotated[list[ObservationDeletion], _Batch],
        purge: _Purge = False,
        atomic: _Atomic = False,
    ) -> ToolResult:
        def delete(writer: Writer, one: ObservationDeletion) -> Outcome:
            return mutations.delete_observations(writer, one, purge)

        count = sum(len(one.observations) for one in deletions)
        what = f"{count} observations" if purge else None
        return await _delete(ctx, memory, deletions, delete, (atomic, what))

    async def delete_relations(
        ctx: Context,
        relations: Annotated[list[RelationName], _Batch],
        purge: _Purge = False,
        atomic: _Atomic = False,
    ) -> ToolResult:
        def delete(writer: Writer, one: RelationName) -> Outcome:
            return mutations.delete_relation(writer, one, purge)

        what = f"{len(relations)} relations" if purge else None
        return await _delete(ctx, memory, relations, delete, (atomic, what))

    texts: tuple[tuple[Callable[..., Any], str], ...] = (
        (
            delete_entities,
            "Delete entities with their observations and relations. History is kept and can be "
            "read at earlier times, unless purge is set.",
        ),
        (
            delete_observations,
            "Delete observations of entities, by their text or id. History is kept, unless purge "
            "is set.",
        ),
        (delete_relations, "Delete relations. History is kept, unless purge is set."),
    )
    for function, text in texts:
        given = describe(function.__name__, text, DESTROYS, BatchResult)
        server.tools.add(function, **given)


def _batch(
    memory: Memory,
    items: Sequence[_Item],
    change: Callable[[Writer, _Item], Outcome],
    atomic: bool,
) -> ToolResult:
    with memory.store.writing() as writer:
        outcomes = [change(writer, one) for one in items]
        reject_partial(outcomes, atomic)
        recorded = format_timestamp(writer.now())
    return batch_answer(outcomes, recorded)


async def _delete(
    ctx: Context,
    memory: Memory,
    items: Sequence[_Item],
    change: Callable[[Writer, _Item], Outcome],
    how: tuple[bool, str | None],
) -> ToolResult:
    atomic, purged = how
    if purged is not None:
        await confirm_purge(ctx, purged, memory.purge_unasked)
    result = await asyncio.to_thread(_batch, memory, items, change, atomic)
    if purged is not None:
        await asyncio.to_thread(memory.store.compact)
    return result
