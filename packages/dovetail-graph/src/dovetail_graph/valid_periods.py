"""When a new fact is true, and how that fits the entities that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dovetail import ToolError
from dovetail_graph.inputs import Time
from dovetail_graph.records import EntityRecord
from dovetail_graph.storage import Writer
from dovetail_graph.timestamps import Span, find_gaps, format_timestamp, parse_timestamp

__all__ = ["check_end", "default_span", "periods_to_write", "read_span", "widen_entity"]


def read_span(writer: Writer, start: Time | None, end: Time | None, default: Span) -> Span:
    """Return the span of validity that the caller gave; what is missing is from the default."""
    begins = parse_timestamp(start, "validFrom")
    ends = parse_timestamp(end, "validTo")
    span = Span(
        default.start if begins is None else writer.now() if start == "now" else begins,
        default.end if ends is None else writer.now() if end == "now" else ends,
    )
    if span.end <= span.start:
        hint = "; pass validFrom too if it is a fact about the past" if begins is None else ""
        raise ToolError(
            f"validTo ({format_timestamp(span.end)}) must be after validFrom "
            f"({format_timestamp(span.start)}){hint}"
        )
    return span


def default_span(writer: Writer, names: Sequence[str]) -> Span:
    """Return when a fact about existing entities is true unless the caller says so.

    It begins now if they are there now, else with them; it ends with them.
    """
    begins, ends = [], []
    for name in names:
        periods = [row.times.valid for row in writer.entity_periods(name)]
        is_current = any(writer.now() in period for period in periods)
        begins.append(writer.now() if is_current else periods[-1].start)
        ends.append(periods[-1].end)
    return Span(max(begins), min(ends))


def check_end(name: str, span: Span, last: int) -> None:
    """Raise ToolError if a fact is true for longer than its entity, which ends at `last`."""
    if span.end > last:
        raise ToolError(
            f"{name!r} is there until {format_timestamp(last)}, and this would be true for longer; "
            "pass a validTo up to then, or record the entity with a later validTo first"
        )


def widen_entity(writer: Writer, name: str, spans: Iterable[Span]) -> list[str]:
    """Let an entity begin with the oldest fact about it; return what was done, as notes."""
    first = writer.entity_periods(name)[0]
    begin = min((span.start for span in spans), default=first.times.valid.start)
    if begin >= first.times.valid.start:
        return []
    writer.put_entity(first, Span(begin, first.times.valid.start))
    return [f"{name!r} now begins at {format_timestamp(begin) or 'the earliest time'}"]


def periods_to_write(
    known: Sequence[EntityRecord], kind: str, span: Span, replace_type: bool
) -> tuple[str, list[Span]]:
    """Return the type of an entity in this span, and the spans to write with it.

    An existing entity keeps its type unless `replace_type` is set.
    """
    overlapping = [
        row
        for row in known
        if row.times.valid.start < span.end and row.times.valid.end > span.start
    ]
    if replace_type and any(row.kind != kind for row in overlapping):
        return kind, [span]
    kept = overlapping[-1].kind if overlapping else kind
    return kept, find_gaps((row.times.valid for row in overlapping), span)
