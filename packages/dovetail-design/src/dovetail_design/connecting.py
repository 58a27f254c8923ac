"""Connectors: lines that follow the elements that they connect.

The connections are stored beside the elements, not in them: the renderer sees a plain line.
"""

from __future__ import annotations

from typing import Any, Literal

from dovetail import ToolError
from dovetail_design.arranging import Box
from dovetail_design.canvases import Canvas, box_of

__all__ = ["Side", "bind", "follow_connectors"]

Side = Literal["auto", "top", "right", "bottom", "left", "center"]

# Side -> the point on a box, as fractions of its width and height.
_PLACES: dict[str, tuple[float, float]] = {
    "top": (0.5, 0.0),
    "right": (1.0, 0.5),
    "bottom": (0.5, 1.0),
    "left": (0.0, 0.5),
    "center": (0.5, 0.5),
}


def bind(canvas: Canvas, line: str, tie: dict[str, Any]) -> None:
    """Connect a line to two elements: `from`, `to`, and the sides where it starts and ends."""
    kind = canvas.get(line)["type"]
    if kind != "line":
        raise ToolError(f"The element {line!r} is a {kind}; only a line can be a connector")
    for end in ("from", "to"):
        canvas.get(tie[end])
        if tie[end] == line:
            raise ToolError(f"The line {line!r} cannot be connected to itself")
    if tie["from"] == tie["to"]:
        raise ToolError(f"A connector needs two elements, got {tie['from']!r} twice")
    canvas.set(connectors={**canvas.connectors, line: tie})
    _route(canvas, line, tie)


def follow_connectors(canvas: Canvas) -> None:
    """Update lines whose ends have moved, and disconnect those that lost an end."""
    ties = canvas.connectors
    kept = {
        line: tie
        for line, tie in ties.items()
        if line in canvas.elements
        and tie["from"] in canvas.elements
        and tie["to"] in canvas.elements
    }
    if kept != ties:
        canvas.set(connectors=kept)
    for line, tie in kept.items():
        if tie["from"] in canvas.touched or tie["to"] in canvas.touched:
            _route(canvas, line, tie)


def _route(canvas: Canvas, line: str, tie: dict[str, Any]) -> None:
    start_box, end_box = box_of(canvas.get(tie["from"])), box_of(canvas.get(tie["to"]))
    start = _anchor(start_box, end_box, tie.get("fromSide", "auto"))
    end = _anchor(end_box, start_box, tie.get("toSide", "auto"))
    left, top = min(start[0], end[0]), min(start[1], end[1])
    updates = {
        "x": round(left, 2),
        "y": round(top, 2),
        "width": round(abs(start[0] - end[0]), 2),
        "height": round(abs(start[1] - end[1]), 2),
        "rotation": None,
        "linePoints": [{"x": round(x - left, 2), "y": round(y - top, 2)} for x, y in (start, end)],
    }
    was_locked = canvas.get(line).get("locked", False)
    # A lock prevents edits; a locked line still follows its elements.
    canvas.update(line, {**updates, "locked": False})
    if was_locked:
        canvas.update(line, {"locked": True})


def _anchor(box: Box, other: Box, side: Side) -> tuple[float, float]:
    if side == "auto":
        side = _facing(box, other)
    across, down = _PLACES[side]
    return box.x + across * box.width, box.y + down * box.height


def _facing(box: Box, other: Box) -> Side:
    """Return the side that faces the other box, across the wider gap."""
    right, left = other.x - box.right, box.x - other.right
    below, above = other.y - box.bottom, box.y - other.bottom
    gaps: list[tuple[float, Side]] = [
        (right, "right"),
        (left, "left"),
        (below, "bottom"),
        (above, "top"),
    ]
    return max(gaps)[1]
