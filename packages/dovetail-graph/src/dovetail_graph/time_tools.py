"""The tools that know when: the graph at a time, the graph as it fades, changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from msgspec import Meta

from dovetail import Server, ToolResult
from dovetail_graph.answers import answer, tool
from dovetail_graph.inputs import (
    Cursor,
    EntityType,
    Field,
    Limit,
    MaxChars,
    MaxObservations,
    Name,
    Time,
)
from dovetail_graph.memory import Memory
from dovetail_graph.moments import FOREVER, LONG_AGO, View, read_moment, show_moment
from dovetail_graph.read_tools import (
    PageRequest,
    make_detail,
    read_page,
)
from dovetail_graph.results import (
    ChangeList,
    ChangeView,
    GraphPage,
)
from dovetail_graph.showing import MAX_CHARS, Detail, read_cursor, with_decay, write_cursor
from dovetail_graph.storage import ChangeFilter
from dovetail_serverkit.budget import Budget
from dovetail_serverkit.describing import READS

__all__ = ["add_time_tools"]

_Page = Annotated[int, Meta(ge=0, le=1000)]


def add_time_tools(server: Server, memory: Memory) -> None:
    """Register them."""

    @tool(
        server,
        "get_graph_at_time",
        "The graph as it stood at a time: what was recorded by then as true then. With "
        "recorded_at=now: what is known today about that time; any other recorded_at: what was "
        "known about it then. Paged like read_graph.",
        READS,
        GraphPage,
    )
    def get_graph_at_time(  # noqa: PLR0913 - the tool's own parameters, all but one optional
        timestamp: Time,
        recorded_at: Annotated[Time | None, "As it was recorded at this time."] = None,
        limit: _Page = 100,
        cursor: Cursor = None,
        entityTypes: list[EntityType] | None = None,
        names_only: bool = False,
        fields: list[Field] | None = None,
        maxObservations: MaxObservations = 10,
        center: Name | None = None,
        depth: Annotated[int, Meta(ge=0, le=5)] = 1,
        maxChars: MaxChars = MAX_CHARS,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entityTypes or ()), center, depth, maxChars)
        with memory.store.reading() as reader:
            now = reader.now()
            valid = now if timestamp == "now" else read_moment(timestamp, "timestamp")
            known = now if recorded_at == "now" else read_moment(recorded_at, "recorded_at")
            assert valid is not None
            view = View(valid, valid if known is None else known)
            return answer(read_page(reader, view, which, detail))

    @tool(
        server,
        "get_decayed_graph",
        "The graph with confidence as it has faded: confidence x decay_factor^(days since the last "
        "reinforcement / half-life), not below the floor. originalConfidence is what was recorded. "
        "Paged like read_graph.",
        READS,
        GraphPage,
    )
    def get_decayed_graph(  # noqa: PLR0913 - the tool's own parameters, all optional
        reference_time: Annotated[Time | None, "When to look at it; now without."] = None,
        decay_factor: Annotated[
            float, Meta(gt=0, le=1, description="What a half-life leaves.")
        ] = 0.5,
        limit: _Page = 100,
        cursor: Cursor = None,
        entityTypes: list[EntityType] | None = None,
        names_only: bool = False,
        fields: list[Field] | None = None,
        maxObservations: MaxObservations = 10,
        center: Name | None = None,
        depth: Annotated[int, Meta(ge=0, le=5)] = 1,
        maxChars: MaxChars = MAX_CHARS,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entityTypes or ()), center, depth, maxChars)
        decay = replace(memory.decay, factor=decay_factor)
        with memory.store.reading() as reader:
            moment = read_moment(reference_time, "reference_time")
            detail = with_decay(detail, decay, reader.now() if moment is None else moment)
            page = read_page(reader, View(reader.now()), which, detail)
        page.half_life_days = decay.half_life
        return answer(page)

    @tool(
        server,
        "recent_changes",
        "What was recorded, changed, deleted and merged, the newest first.",
        READS,
        ChangeList,
    )
    def recent_changes(
        since: Annotated[Time | None, "From this time on."] = None,
        until: Annotated[Time | None, "Before this time."] = None,
        kinds: list[Literal["entity", "relation", "observation"]] | None = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> ToolResult:
        before = read_cursor(cursor, int)
        start, end = read_moment(since, "since"), read_moment(until, "until")
        which = ChangeFilter(
            LONG_AGO if start is None else start,
            FOREVER if end is None else end,
            tuple(kinds or ()),
            None if before is None else int(before),
            limit + 1,
        )
        with memory.store.reading() as reader:
            found = reader.changes(which)
        budget = Budget(MAX_CHARS)
        shown = []
        for one in found[:limit]:
            view = ChangeView(
                sequence=one.sequence,
                at=show_moment(one.at),
                kind=one.kind,
                action=one.action,
                name=one.name,
                detail=one.detail or None,
                changed_by=one.changed_by,
            )
            if not budget.take(view):
                break
            shown.append(view)
        has_more = len(shown) < len(found)
        return answer(
            ChangeList(
                changes=shown,
                has_more=has_more,
                next_cursor=write_cursor(shown[-1].sequence) if has_more and shown else None,
            )
        )
