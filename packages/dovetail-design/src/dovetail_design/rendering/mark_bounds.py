"""Bounding boxes of marks, for filters."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dovetail_design.rendering.marks import (
    DrawingMark,
    GroupMark,
    ImageMark,
    Mark,
    PathMark,
    TextMark,
)
from dovetail_design.rendering.outlines import Box, Outline
from dovetail_design.rendering.skia_shapes import make_path
from dovetail_design.rendering.typesetting import Typesetter

__all__ = ["mark_bounds", "outline_box"]

# A blur is invisible beyond three deviations.
_REACH = 3.0


def mark_bounds(mark: Mark, typesetter: Typesetter) -> Box:
    """Return a box that contains the mark."""
    if isinstance(mark, PathMark):
        box = outline_box(mark.outline)
        # Miters reach four half widths.
        line = 0.0 if mark.stroke is None else mark.stroke.width * 2
        return box.outset(line + mark.blur * _REACH + 1)
    if isinstance(mark, TextMark):
        measure = typesetter.measure(mark.block)
        box = Box(mark.x, mark.y, max(mark.block.width, measure.width), measure.height)
        return box.outset(mark.block.size + mark.stroke_width + mark.blur * _REACH)
    if isinstance(mark, ImageMark | DrawingMark):
        return mark.target
    box = _union(mark_bounds(one, typesetter) for one in mark.marks)
    return _turned(box.outset(mark.blur * _REACH), mark)


def outline_box(outline: Outline) -> Box:
    """Return the box around an outline."""
    bounds = make_path(outline).getBounds()
    return Box(bounds.left(), bounds.top(), bounds.width(), bounds.height())


def _union(boxes: Iterable[Box]) -> Box:
    found = list(boxes) or [Box(0, 0, 1, 1)]
    left, top = min(box.x for box in found), min(box.y for box in found)
    right = max(box.x + box.width for box in found)
    bottom = max(box.y + box.height for box in found)
    return Box(left, top, right - left, bottom - top)


def _turned(box: Box, mark: GroupMark) -> Box:
    if mark.turn is None:
        return box
    angle, centre_x, centre_y = mark.turn
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    corners = []
    for x in (box.x, box.x + box.width):
        for y in (box.y, box.y + box.height):
            from_x, from_y = x - centre_x, y - centre_y
            corners.append(
                Box(
                    centre_x + from_x * cos - from_y * sin,
                    centre_y + from_x * sin + from_y * cos,
                    0,
                    0,
                )
            )
    return _union(corners)
