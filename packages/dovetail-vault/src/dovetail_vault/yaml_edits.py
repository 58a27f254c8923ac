"""Change the value of one YAML key and keep what is around it: comments, indentation, quotes.

Scalars on one line and lists are changed in place. What cannot be changed in place is reported as
None, and the caller writes the key anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import yaml

from dovetail_vault.yaml_values import dump_flow_item, dump_scalar, dump_yaml

__all__ = ["comment_of", "edit_value"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_QUOTES = ("'", '"')


class _Span(NamedTuple):
    start: int
    end: int


def edit_value(lines: str, old: Any, new: Any) -> str | None:
    """Return the lines of a key with another value, or None if that needs more than an edit.

    `lines` is `key: value` with all lines of the value; line breaks are newlines.
    """
    key_end, events = _value_events(lines)
    if not events:
        return None
    first = events[0]
    if first.anchor is not None or getattr(first, "tag", None) is not None:
        return None
    if isinstance(first, yaml.ScalarEvent) and not isinstance(new, dict | list):
        return _edit_scalar(lines, key_end, first, new)
    if isinstance(first, yaml.SequenceStartEvent) and isinstance(new, list):
        spans = _item_spans(events)
        # Items are compared with the values that were read from the same events.
        if spans and isinstance(old, list) and len(spans) == len(old):
            edit = _edit_flow if first.flow_style else _edit_block
            return edit(lines, spans, old, new)
    return None


def comment_of(lines: str) -> str:
    """Return the comment after the value on the first line, with the spaces before it."""
    _, events = _value_events(lines)
    line = lines.partition("\n")[0]
    if not events or events[-1].end_mark.index > len(line):
        return ""
    rest = line[events[-1].end_mark.index :]
    return rest if rest.strip().startswith("#") else ""


def _value_events(lines: str) -> tuple[int, list[Any]]:
    """Return the end of the key and the events of its value; none if there are several keys."""
    try:
        events: list[Any] = list(yaml.parse(lines, Loader=_Loader))
    except (yaml.YAMLError, UnicodeEncodeError):
        return 0, []
    # Stream, document and mapping start, the key, the value, and three ends.
    key, *inner = events[3:-3] or [None]
    depth = 0
    for number, event in enumerate(inner):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth == 0:
            return (key.end_mark.index, inner) if number == len(inner) - 1 else (0, [])
    return 0, []


def _edit_scalar(lines: str, key_end: int, event: Any, new: Any) -> str | None:
    span = _Span(event.start_mark.index, event.end_mark.index)
    if event.style in ("|", ">"):
        return None
    written = dump_scalar(new, event.style if event.style in _QUOTES else None)
    if written is None or "\n" in lines[span.start : span.end]:
        return None
    if span.start == span.end:
        start = lines.index(":", key_end) + 1
        return f"{lines[:start]} {written}{lines[start:]}"
    return f"{lines[: span.start]}{written}{lines[span.end :]}"


def _item_spans(events: list[Any]) -> list[_Span]:
    """Return the span of each item of a list."""
    spans, depth, start = [], 0, 0
    for event in events[1:-1]:
        if depth == 0:
            start = event.start_mark.index
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth == 0:
            spans.append(_Span(start, event.end_mark.index))
    return spans


def _unchanged(old: list[Any], new: list[Any]) -> tuple[int, int]:
    """Return how many items at the start and at the end are the same."""
    most = min(len(old), len(new))
    start = 0
    while start < most and _same(old[start], new[start]):
        start += 1
    end = 0
    while end < most - start and _same(old[-1 - end], new[-1 - end]):
        end += 1
    return start, end


def _same(one: Any, other: Any) -> bool:
    # As JSON, because `1 == True`.
    return msgspec.json.encode(one) == msgspec.json.encode(other)


def _edit_flow(lines: str, spans: list[_Span], old: list[Any], new: list[Any]) -> str | None:
    start, end = _unchanged(old, new)
    middle = ", ".join(map(dump_flow_item, new[start : len(new) - end]))
    removed = spans[start : len(spans) - end]
    if not removed and not middle:
        return lines
    if removed and middle:
        return f"{lines[: removed[0].start]}{middle}{lines[removed[-1].end :]}"
    if middle and start:
        place = spans[start - 1].end
        return f"{lines[:place]}, {middle}{lines[place:]}"
    if middle:
        place = spans[0].start
        return f"{lines[:place]}{middle}, {lines[place:]}"
    # Deleted items take the comma behind them along, or the one before if they are the last.
    first = removed[0].start if end or not start else spans[start - 1].end
    last = spans[len(spans) - end].start if end else removed[-1].end
    return f"{lines[:first]}{lines[last:]}"


def _edit_block(lines: str, spans: list[_Span], old: list[Any], new: list[Any]) -> str | None:
    """Replace whole lines; a comment line belongs to the item below it."""
    starts = [lines.rindex("\n", 0, span.start) + 1 for span in spans]
    dashes = [lines[start : span.start] for start, span in zip(starts, spans, strict=True)]
    if len(set(starts)) < len(starts) or any(dash.strip(" ") != "-" for dash in dashes):
        return None
    if not new:
        return None
    borders = [_with_comments(lines, start) for start in starts]
    borders[0] = starts[0]
    borders.append(len(lines))
    start, end = _unchanged(old, new)
    indent = dashes[0][: dashes[0].index("-")]
    middle = new[start : len(new) - end]
    written = dump_yaml_list(middle, indent) if middle else ""
    kept = len(spans) - end
    return f"{lines[: borders[start]]}{written}{lines[borders[kept] :]}"


def _with_comments(lines: str, start: int) -> int:
    """Return where the comment lines directly above a line start."""
    while True:
        before = lines.rfind("\n", 0, start - 1) + 1
        if before >= start or not lines[before:start].lstrip().startswith("#"):
            return start
        start = before


def dump_yaml_list(items: list[Any], indent: str) -> str:
    """Return the items as lines of a list."""
    dumped = dump_yaml({"x": items}).partition("\n")[2]
    return "".join(f"{indent}{line}" for line in dumped.splitlines(keepends=True))
