"""Tools for time: get_graph_at_time, get_decayed_graph, recent_changes."""

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
from dovetail_graph.read_tools import (
    PageRequest,
    make_detail,
    read_page,
)
from dovetail_graph.rendering import MAX_CHARS, Detail, decode_cursor, encode_cursor, with_decay
from dovetail_graph.results import (
    ChangeList,
    ChangeView,
    GraphPage,
)
from dovetail_graph.storage import ChangeFilter
from dovetail_graph.timestamps import EARLIEST, FOREVER, View, format_timestamp, parse_timestamp
from dovetail_serverkit.text_budget import Budget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_time_tools"]

_Page = Annotated[int, Meta(ge=0, le=1000)]


def add_time_tools(server: Server, memory: Memory) -> None:
    """Register the tools."""

    @tool(
        server,
        "get_graph_at_time",
        "The graph at a past time. By default: what was valid at `timestamp` according to the "
        "record of that time. recorded_at=now: what is known today about that time; another "
        "recorded_at: what was known about it then. Paged like read_graph.",
        READS,
        GraphPage,
    )
    def get_graph_at_time(  # noqa: PLR0913 - the tool's own parameters, all but one optional
        timestamp: Time,
        recorded_at: Annotated[
            Time | None, "Use the record of this time; default: timestamp."
        ] = None,
        limit: _Page = 100,
        cursor: Cursor = None,
        entity_types: list[EntityType] | None = None,
        names_only: bool = False,
        fields: list[Field] | None = None,
        maxObservations: MaxObservations = 10,
        center: Name | None = None,
        depth: Annotated[int, Meta(ge=0, le=5)] = 1,
        maxChars: MaxChars = MAX_CHARS,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entity_types or ()), center, depth, maxChars)
        with memory.store.reading() as reader:
            now = reader.now()
            valid = now if timestamp == "now" else parse_timestamp(timestamp, "timestamp")
            known = now if recorded_at == "now" else parse_timestamp(recorded_at, "recorded_at")
            assert valid is not None
            view = View(valid, valid if known is None else known)
            return answer(read_page(reader, view, which, detail))

    @tool(
        server,
        "get_decayed_graph",
        "The graph with decayed confidence: confidence x decay_factor^(days since the last "
        "reinforcement / half-life), not below the floor. originalConfidence is the recorded "
        "value. Paged like read_graph.",
        READS,
        GraphPage,
    )
    def get_decayed_graph(  # noqa: PLR0913 - the tool's own parameters, all optional
        reference_time: Annotated[Time | None, "Decay until this time; default: now."] = None,
        decay_factor: Annotated[
            float, Meta(gt=0, le=1, description="Share that is left after one half-life.")
        ] = 0.5,
        limit: _Page = 100,
        cursor: Cursor = None,
        entity_types: list[EntityType] | None = None,
        names_only: bool = False,
        fields: list[Field] | None = None,
        maxObservations: MaxObservations = 10,
        center: Name | None = None,
        depth: Annotated[int, Meta(ge=0, le=5)] = 1,
        maxChars: MaxChars = MAX_CHARS,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entity_types or ()), center, depth, maxChars)
        decay = replace(memory.decay, factor=decay_factor)
        with memory.store.reading() as reader:
            reference = parse_timestamp(reference_time, "reference_time")
            detail = with_decay(detail, decay, reader.now() if reference is None else reference)
            page = read_page(reader, View(reader.now()), which, detail)
        page.half_life_days = decay.half_life
        return answer(page)

    @tool(
        server,
        "recent_changes",
        "The log of created, updated, deleted and merged items, the newest first.",
        READS,
        ChangeList,
    )
    def recent_changes(
        since: Annotated[Time | None, "At or after this time."] = None,
        until: Annotated[Time | None, "Before this time."] = None,
        kinds: list[Literal["entity", "relation", "observation"]] | None = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> ToolResult:
        before = decode_cursor(cursor, int)
        start, end = parse_timestamp(since, "since"), parse_timestamp(until, "until")
        which = ChangeFilter(
            EARLIEST if start is None else start,
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
                at=format_timestamp(one.at),
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
                next_cursor=encode_cursor(shown[-1].sequence) if has_more and shown else None,
            )
        )
