"""Tools for time: get_graph_at_time, get_decayed_graph, recent_changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from dovetail import ToolError, ToolResult
from dovetail_graph.answers import answer
from dovetail_graph.inputs import HIDDEN, MAX_CHARS, Field, Time, bounded
from dovetail_graph.memory import Memory
from dovetail_graph.read_tools import (
    PageRequest,
    make_detail,
    read_page,
)
from dovetail_graph.rendering import (
    Detail,
    decode_cursor,
    encode_cursor,
    render_change,
    with_decay,
)
from dovetail_graph.results import ChangeList, GraphPage
from dovetail_graph.storage import ChangeFilter
from dovetail_graph.timestamps import EARLIEST, FOREVER, View, parse_timestamp
from dovetail_graph.toolbox import Toolbox
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_time_tools"]

_Hidden = Annotated[int, HIDDEN]


def add_time_tools(tools: Toolbox, memory: Memory) -> None:
    """Register the tools."""

    @tools.add(
        "get_graph_at_time",
        "The graph at a past time, as recorded then. recorded_at='now': what is known today about "
        "that time; another time: what was known about it then.",
        READS,
        GraphPage,
    )
    def get_graph_at_time(  # noqa: PLR0913 - the tool's own parameters, all but one optional
        timestamp: Time,
        recorded_at: Time | None = None,
        entity_types: list[str] | None = None,
        center: str | None = None,
        cursor: str | None = None,
        limit: _Hidden = 100,
        names_only: Annotated[bool, HIDDEN] = False,
        fields: Annotated[list[Field] | None, HIDDEN] = None,
        maxObservations: _Hidden = 10,
        depth: _Hidden = 1,
        maxChars: _Hidden = MAX_CHARS,
    ) -> ToolResult:
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entity_types or ()), center, depth, maxChars)
        with memory.store.reading() as reader:
            now = reader.now()
            valid = now if timestamp == "now" else parse_timestamp(timestamp, "timestamp")
            known = now if recorded_at == "now" else parse_timestamp(recorded_at, "recorded_at")
            assert valid is not None
            view = View(valid, valid if known is None else known)
            return answer(read_page(reader, view, which, detail), which.max_chars)

    @tools.add(
        "get_decayed_graph",
        "The graph with decayed confidence: confidence x decay_factor^(days since the last "
        "reinforcement / half-life).",
        READS,
        GraphPage,
    )
    def get_decayed_graph(  # noqa: PLR0913 - the tool's own parameters, all optional
        reference_time: Time | None = None,
        decay_factor: float = 0.5,
        entity_types: list[str] | None = None,
        cursor: str | None = None,
        center: Annotated[str | None, HIDDEN] = None,
        limit: _Hidden = 100,
        names_only: Annotated[bool, HIDDEN] = False,
        fields: Annotated[list[Field] | None, HIDDEN] = None,
        maxObservations: _Hidden = 10,
        depth: _Hidden = 1,
        maxChars: _Hidden = MAX_CHARS,
    ) -> ToolResult:
        if not 0 < decay_factor <= 1:
            raise ToolError(f"decay_factor must be above 0 and at most 1, got {decay_factor}")
        detail = make_detail(fields, names_only, maxObservations, Detail().fields)
        which = PageRequest(limit, cursor, tuple(entity_types or ()), center, depth, maxChars)
        decay = replace(memory.decay, factor=decay_factor)
        with memory.store.reading() as reader:
            reference = parse_timestamp(reference_time, "reference_time")
            detail = with_decay(detail, decay, reader.now() if reference is None else reference)
            page = read_page(reader, View(reader.now()), which, detail)
        page.half_life_days = decay.half_life
        return answer(page, which.max_chars)

    @tools.add(
        "recent_changes",
        "The log of created, updated, deleted and merged items, the newest first.",
        READS,
        ChangeList,
    )
    def recent_changes(
        since: Time | None = None,
        until: Time | None = None,
        kinds: list[Literal["entity", "relation", "observation"]] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> ToolResult:
        limit = bounded(limit, 1, 500)
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
        shown = AnswerBudget(MAX_CHARS).fitting(map(render_change, found[:limit]))
        has_more = len(shown) < len(found)
        return answer(
            ChangeList(
                changes=shown,
                has_more=has_more,
                next_cursor=encode_cursor(shown[-1].sequence) if has_more and shown else None,
            )
        )
