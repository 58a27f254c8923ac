"""The tools that record and delete: entities, relations, observations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_graph import changing
from dovetail_graph.answers import answer, batch_answer, describe, refuse_partial, tool
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
from dovetail_graph.moments import View, read_moment, show_moment
from dovetail_graph.purging import ask_before_purge
from dovetail_graph.results import BatchResult, Outcome, RelationFound
from dovetail_graph.showing import Detail, show_relation
from dovetail_graph.storage import Writer
from dovetail_serverkit.describing import CHANGES, DESTROYS

__all__ = ["add_write_tools"]

_Item = TypeVar("_Item")
_Atomic = Annotated[bool, "Refuse the whole batch if one item is refused."]
_Purge = Annotated[bool, "Erase it with its history for good; the user is asked first."]
_Batch = Meta(min_length=1, max_length=1000)


def add_write_tools(server: Server, memory: Memory) -> None:
    """Register them."""

    @tool(
        server,
        "create_entities",
        "Create entities with observations. One that exists is added to, never replaced. validFrom "
        "and validTo say when it is true, if not from now on. It answers what became of each.",
        CHANGES,
        BatchResult,
    )
    def create_entities(
        entities: Annotated[list[NewEntity], _Batch], atomic: _Atomic = False
    ) -> ToolResult:
        return _batch(
            memory,
            entities,
            lambda writer, one: changing.create_entity(writer, one, memory.vocabulary),
            atomic,
        )

    @tool(
        server,
        "create_relations",
        "Record directed relations between entities, in the active voice. One that is known is "
        "reinforced: its confidence counts from now again. Without values strength is 0.9 and "
        "confidence 0.95.",
        CHANGES,
        BatchResult,
    )
    def create_relations(
        relations: Annotated[list[NewRelation], _Batch], atomic: _Atomic = False
    ) -> ToolResult:
        return _batch(
            memory,
            relations,
            lambda writer, one: changing.create_relation(writer, one, memory.vocabulary),
            atomic,
        )

    @tool(
        server,
        "add_observations",
        "Add observations to entities: texts, or objects with source, confidence and when it is "
        "true. What is known already is not added twice.",
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
            lambda writer, one: changing.add_observations(
                writer, one.entity_name, one.contents, changedBy
            ),
            atomic,
        )

    @tool(
        server,
        "update_relation",
        "Change strength, confidence or metadata of a relation that is there; what is left out "
        "stays. A new version is written and its confidence counts from then.",
        CHANGES,
        RelationFound,
    )
    def update_relation(relation: NewRelation) -> ToolResult:
        with memory.store.writing() as writer:
            key = changing.update_relation(writer, relation)
            found = writer.relation(key, View(writer.now()))
        detail = Detail(frozenset({"times"}))
        shown = None if found is None else show_relation(found, detail)
        return answer(RelationFound(found=shown is not None, relation=shown))

    _add_deletions(server, memory)


def _add_deletions(server: Server, memory: Memory) -> None:
    async def delete_entities(
        ctx: Context,
        entityNames: Annotated[list[Name], _Batch],
        purge: _Purge = False,
        validTo: Annotated[Time | None, "When it ended; now without."] = None,
        atomic: _Atomic = False,
    ) -> ToolResult:
        ended = read_moment(validTo, "validTo")
        if purge and ended is not None:
            raise ToolError("purge erases all times; leave validTo out")

        def delete(writer: Writer, name: str) -> Outcome:
            return changing.delete_entity(
                writer, name, writer.now() if ended is None or validTo == "now" else ended, purge
            )

        what = f"{len(entityNames)} entities ({', '.join(entityNames)[:200]})"
        return await _delete(ctx, memory, entityNames, delete, (atomic, what if purge else None))

    async def delete_observations(
        ctx: Context,
        deletions: Annotated[list[ObservationDeletion], _Batch],
        purge: _Purge = False,
        atomic: _Atomic = False,
    ) -> ToolResult:
        def delete(writer: Writer, one: ObservationDeletion) -> Outcome:
            return changing.delete_observations(writer, one, purge)

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
            return changing.delete_relation(writer, one, purge)

        what = f"{len(relations)} relations" if purge else None
        return await _delete(ctx, memory, relations, delete, (atomic, what))

    texts: tuple[tuple[Callable[..., Any], str], ...] = (
        (
            delete_entities,
            "Delete entities with their observations and relations. History stays and can be read "
            "at earlier times; purge erases it.",
        ),
        (
            delete_observations,
            "Delete observations of entities, by their text or id. History stays; purge erases it.",
        ),
        (delete_relations, "Delete relations. History stays; purge erases it."),
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
        refuse_partial(outcomes, atomic)
        recorded = show_moment(writer.now())
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
        await ask_before_purge(ctx, purged, memory.purge_unasked)
    result = await asyncio.to_thread(_batch, memory, items, change, atomic)
    if purged is not None:
        await asyncio.to_thread(memory.store.forget_erased)
    return result
