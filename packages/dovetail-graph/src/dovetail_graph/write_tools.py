"""Tools that create, update and delete entities, relations and observations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from dovetail import Context, ToolError, ToolResult
from dovetail_graph import mutations
from dovetail_graph.answers import answer, batch_answer, reject_partial
from dovetail_graph.inputs import (
    HIDDEN,
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
from dovetail_graph.text_limits import MAX_ITEMS
from dovetail_graph.timestamps import ANY_TIME, format_timestamp, parse_timestamp
from dovetail_graph.toolbox import Toolbox
from dovetail_serverkit.tool_descriptions import CHANGES, DESTROYS

__all__ = ["add_write_tools"]

_Item = TypeVar("_Item")
_Purge = Annotated[bool, "Erase with all history; asks the user."]


def add_write_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add(
        "create_entities",
        "Record entities with observations. An existing entity is extended, never replaced; its "
        "type changes only with replaceType. validFrom and validTo: when it is true (default: from "
        "now on); give both for facts about the past.",
        CHANGES,
        BatchResult,
    )
    def create_entities(entities: list[NewEntity], atomic: bool = False) -> ToolResult:
        return _batch(
            memory,
            entities,
            lambda writer, one: mutations.create_entity(writer, one, memory.vocabulary),
            atomic,
        )

    @tools.add(
        "create_relations",
        "Record directed relations. Types are verbs in the active voice. An existing relation is "
        "reinforced. Defaults: strength 0.9, confidence 0.95.",
        CHANGES,
        BatchResult,
    )
    def create_relations(relations: list[NewRelation], atomic: bool = False) -> ToolResult:
        return _batch(
            memory,
            relations,
            lambda writer, one: mutations.create_relation(writer, one, memory.vocabulary),
            atomic,
        )

    @tools.add(
        "add_observations",
        "Add observations, as texts or objects. `replaces` corrects an observation in one step.",
        CHANGES,
        BatchResult,
    )
    def add_observations(
        observations: list[NewObservations],
        atomic: bool = False,
        changedBy: Annotated[str | None, HIDDEN] = None,
    ) -> ToolResult:
        return _batch(
            memory,
            observations,
            lambda writer, one: mutations.add_observations(
                writer, one.entity_name, one.contents, changedBy
            ),
            atomic,
        )

    @tools.add(
        "update_relation",
        "Change strength, confidence or metadata of a relation; what is omitted stays.",
        CHANGES,
        RelationFound,
    )
    def update_relation(relation: NewRelation) -> ToolResult:
        with memory.store.writing() as writer:
            key = mutations.update_relation(writer, relation)
            found = writer.relation(key, ANY_TIME)
            now = writer.now()
        detail = Detail(frozenset({"times"}), now=now)
        shown = None if found is None else render_relation(found, detail)
        return answer(RelationFound(found=shown is not None, relation=shown))

    _add_deletions(tools, memory)


def _add_deletions(tools: Toolbox, memory: Memory) -> None:
    @tools.add(
        "delete_entities",
        "Delete entities with their observations and relations; only asOf finds them then. "
        "validTo: end them at that time instead.",
        DESTROYS,
        BatchResult,
    )
    async def delete_entities(
        ctx: Context,
        entityNames: list[str],
        purge: _Purge = False,
        validTo: Time | None = None,
        atomic: Annotated[bool, HIDDEN] = False,
    ) -> ToolResult:
        ended = parse_timestamp(validTo, "validTo")
        if purge and ended is not None:
            raise ToolError("purge erases all versions; do not pass validTo with it")

        def delete(writer: Writer, name: str) -> Outcome:
            at = writer.now() if validTo == "now" else ended
            return mutations.delete_entity(writer, name, at, purge)

        what = f"{len(entityNames)} entities ({', '.join(entityNames)[:200]})"
        return await _delete(ctx, memory, entityNames, delete, (atomic, what if purge else None))

    @tools.add(
        "delete_observations",
        "Delete observations by their text or id. notFound has those that do not exist.",
        DESTROYS,
        BatchResult,
    )
    async def delete_observations(
        ctx: Context,
        deletions: list[ObservationDeletion],
        purge: _Purge = False,
        atomic: Annotated[bool, HIDDEN] = False,
    ) -> ToolResult:
        def delete(writer: Writer, one: ObservationDeletion) -> Outcome:
            return mutations.delete_observations(writer, one, purge)

        count = sum(len(one.observations) for one in deletions)
        what = f"{count} observations" if purge else None
        return await _delete(ctx, memory, deletions, delete, (atomic, what))

    @tools.add("delete_relations", "Delete relations.", DESTROYS, BatchResult)
    async def delete_relations(
        ctx: Context,
        relations: list[RelationName],
        purge: _Purge = False,
        atomic: Annotated[bool, HIDDEN] = False,
    ) -> ToolResult:
        def delete(writer: Writer, one: RelationName) -> Outcome:
            return mutations.delete_relation(writer, one, purge)

        what = f"{len(relations)} relations" if purge else None
        return await _delete(ctx, memory, relations, delete, (atomic, what))


def _batch(
    memory: Memory,
    items: Sequence[_Item],
    change: Callable[[Writer, _Item], Outcome],
    atomic: bool,
) -> ToolResult:
    if not 1 <= len(items) <= MAX_ITEMS:
        raise ToolError(f"Pass 1 to {MAX_ITEMS} items at once (entities, relations, observations)")
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
