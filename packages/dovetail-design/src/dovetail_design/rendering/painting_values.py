"""Converts properties of elements to fills, strokes and boxes of marks."""

from __future__ import annotations

from typing import Any

from dovetail_design.model.colours import BLACK, Rgba, parse_colour
from dovetail_design.model.css_values import parse_dashes
from dovetail_design.model.element_groups import Element
from dovetail_design.model.gradients import parse_paint
from dovetail_design.rendering.gradient_lines import place_gradient
from dovetail_design.rendering.marks import Fill, StrokeLine
from dovetail_design.rendering.outlines import Box, Outline, Rounded

__all__ = [
    "border_of",
    "box_of",
    "colour_or_none",
    "corner_outline",
    "fill_of",
    "inner_box",
    "visible_paint",
]

_THINNEST_DASHED = 0.5

_CORNERS = (
    "borderRadiusTopLeft",
    "borderRadiusTopRight",
    "borderRadiusBottomRight",
    "borderRadiusBottomLeft",
)


def box_of(element: Element) -> Box:
    """The element's box."""
    return Box(element.x, element.y, element.width, element.height)


def inner_box(element: Any) -> Box:
    """The box less its padding."""
    all_sides = element.padding or 0.0
    top, right, bottom, left = (
        all_sides if value is None else value
        for value in (
            element.paddingTop,
            element.paddingRight,
            element.paddingBottom,
            element.paddingLeft,
        )
    )
    return Box(
        element.x + left,
        element.y + top,
        max(element.width - left - right, 1.0),
        max(element.height - top - bottom, 1.0),
    )


def colour_or_none(text: str | None) -> Rgba | None:
    """A colour that can be seen."""
    colour = None if text is None else parse_colour(text)
    return colour if colour is not None and colour.alpha > 0 else None


def visible_paint(text: str | None, box: Box) -> Fill | None:
    """A colour or gradient that can be seen, laid over a box."""
    if text is None:
        return None
    paint = parse_paint(text)
    if isinstance(paint, Rgba):
        return paint if paint.alpha > 0 else None
    return place_gradient(paint, box)


def fill_of(element: Any, default: str | None) -> Fill | None:
    """The inside; the default shows where the element has neither inside nor outline."""
    text = element.fill
    if text is None and element.stroke is None and not element.strokeWidth:
        text = default
    return visible_paint(text, box_of(element))


def border_of(element: Any, default_width: float = 0.0, **style: Any) -> StrokeLine | None:
    """The outline, if there is one: a colour without a width is 1 px, a width alone is black."""
    width = element.strokeWidth
    if width is None:
        width = default_width or (1.0 if element.stroke is not None else 0.0)
    if not width:
        return None
    paint = BLACK if element.stroke is None else visible_paint(element.stroke, box_of(element))
    if paint is None:
        return None
    dashes, cap = _dashes(element.borderStyle, width)
    line_dash = getattr(element, "lineDash", None)
    if line_dash is not None:
        dashes = parse_dashes(line_dash)
        cap = "butt"
    return StrokeLine(paint, width, **{"cap": cap, "dashes": dashes, **style})


def _dashes(style: str, width: float) -> tuple[tuple[float, ...], str]:
    if width < _THINNEST_DASHED:
        # Such short dashes would be invisible, and there would be millions of them.
        return (), "butt"
    if style == "dashed":
        return (width * 3, width * 2), "butt"
    if style == "dotted":
        # Dashes of no length with round ends are dots.
        return (0.01, width * 2), "round"
    return (), "butt"


def corner_outline(element: Any) -> Outline:
    """The box with its corners; radii that do not fit are scaled down together, as CSS does."""
    box = box_of(element)
    shared = element.borderRadius or 0.0
    own = (getattr(element, name) for name in _CORNERS)
    radii = [shared if radius is None else radius for radius in own]
    if not any(radii):
        return box
    top_left, top_right, bottom_right, bottom_left = radii
    sides = (
        (box.width, top_left + top_right),
        (box.width, bottom_left + bottom_right),
        (box.height, top_left + bottom_left),
        (box.height, top_right + bottom_right),
    )
    factor = min(1.0, *(side / needed for side, needed in sides if needed > 0))
    return Rounded(
        box, (top_left * factor, top_right * factor, bottom_right * factor, bottom_left * factor)
    )
