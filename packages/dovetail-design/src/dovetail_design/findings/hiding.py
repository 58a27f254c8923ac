"""Finds elements that are not visible although they are not hidden."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_design.findings.boxes import Box
from dovetail_design.findings.finding import Finding
from dovetail_design.findings.painting import alpha_of, fill_of, paint_alpha
from dovetail_design.findings.scene import Item, Scene
from dovetail_design.model import Circle, Polygon, Rectangle, Star, Svg, Text

__all__ = ["find_invisible"]

# Anything fainter is invisible.
_FAINT = 0.02
_SOLID = 0.98


def find_invisible(scene: Scene) -> Iterator[Finding]:
    """Yield elements that are transparent or completely covered."""
    for item in scene.items:
        reason = _faint(item)
        if reason is not None:
            yield Finding(
                "invisible",
                f"The {item.label} is not visible: {reason}",
                (item.id,),
                "Set a colour or a higher opacity, hide it with visible=false, or delete it.",
            )
    yield from _buried(scene)


def _faint(item: Item) -> str | None:
    element = item.element
    if item.opacity <= _FAINT:
        return f"its opacity is {item.opacity:g}"
    if isinstance(element, Text):
        paint = element.fill or element.color
        stroked = element.textStrokeWidth > 0 and paint_alpha(element.textStrokeColor) > _FAINT
        if paint is not None and paint_alpha(paint) <= _FAINT and not stroked:
            return "its colour is transparent"
    if isinstance(element, Rectangle | Circle | Polygon | Star) or (
        isinstance(element, Svg) and element.src is None
    ):
        has_line = element.strokeWidth != 0 and paint_alpha(element.stroke) > _FAINT
        if not has_line and paint_alpha(fill_of(element)) <= _FAINT and not element.boxShadow:
            return "it has neither a fill nor an outline"
    return None


def _buried(scene: Scene) -> Iterator[Finding]:
    """Yield each element once, with the lowest solid element that covers it."""
    reported: set[int] = set()
    for solid in filter(_is_solid, scene.items):
        inner = _flat_part(solid)
        for item in scene.near(solid.bounds):
            if item.level >= solid.level or item.level in reported or item.is_content:
                continue
            if inner.holds(item.bounds, 0.5):
                reported.add(item.level)
                yield Finding(
                    "invisible",
                    f"The {item.label} is completely covered by the {solid.label}",
                    (item.id, solid.id),
                    "Bring it to the front (order), move it, or delete it.",
                )


def _is_solid(item: Item) -> bool:
    element = item.element
    return (
        isinstance(element, Rectangle)
        and alpha_of(item) >= _SOLID
        and item.turn % 90 == 0
        and not element.blur
    )


def _flat_part(solid: Item) -> Box:
    """Return the rectangle without its round corners, which show what is below."""
    radius = getattr(solid.element, "borderRadius", None) or 0
    return solid.bounds.grow(-radius * 0.3, -radius * 0.3)
