"""What an element paints: whether anything, how opaque, and at which points.

Simple outlines (boxes, ellipses, polygons, stars) are computed. For free paths, curves and
pictures only the box is known here; `pixels` renders those.
"""

from __future__ import annotations

from math import cos, pi, sin

from dovetail_design.findings.boxes import turn_point
from dovetail_design.findings.scene import Item
from dovetail_design.model import (
    Circle,
    Container,
    Element,
    Gradient,
    Polygon,
    Rectangle,
    Rgba,
    Star,
    Svg,
    parse_paint,
)
from dovetail_design.rendering.shape_marks import DEFAULT_FILL

__all__ = ["alpha_of", "fill_of", "has_simple_outline", "is_inside", "paint_alpha"]

Point = tuple[float, float]


def paint_alpha(paint: str | None) -> float:
    """Return the opacity of a paint, from 0 to 1; for a gradient the highest."""
    if paint is None:
        return 0.0
    parsed = parse_paint(paint)
    if isinstance(parsed, Rgba):
        return parsed.alpha
    return max(stop.colour.alpha for stop in parsed.stops)


def weakest_alpha(paint: str | None) -> float:
    """Return the opacity of a paint; for a gradient the lowest."""
    if paint is None:
        return 0.0
    parsed = parse_paint(paint)
    if isinstance(parsed, Gradient):
        return min(stop.colour.alpha for stop in parsed.stops)
    return parsed.alpha


def alpha_of(item: Item) -> float:
    """Return the opacity of the inside of an item."""
    return weakest_alpha(fill_of(item.element)) * item.opacity


def fill_of(element: Element) -> str | None:
    """Return the paint of the inside; shapes without fill and stroke are drawn grey."""
    fill: str | None = getattr(element, "fill", None)
    if fill is None and isinstance(element, Rectangle | Circle | Polygon | Star | Svg):
        is_bare = element.stroke is None and not element.strokeWidth
        return DEFAULT_FILL if is_bare else None
    return fill


def has_simple_outline(element: Element) -> bool:
    """Return whether `is_inside` is exact for this element."""
    if isinstance(element, Polygon):
        return element.svgPath is None
    return isinstance(element, Rectangle | Container | Circle | Star)


def is_inside(item: Item, point: Point) -> bool:
    """Return whether a point of the canvas is inside the outline."""
    element = item.element
    for one in (*reversed(item.containers), element):
        middle = (one.x + one.width / 2, one.y + one.height / 2)
        point = turn_point(point, middle, -one.rotation)
    x, y = point
    across, down = x - element.x, y - element.y
    if not (0 <= across <= element.width and 0 <= down <= element.height):
        return False
    match element:
        case Circle():
            from_middle = (across / element.width * 2 - 1, down / element.height * 2 - 1)
            return from_middle[0] ** 2 + from_middle[1] ** 2 <= 1
        case Polygon() if element.svgPath is None:
            return _in_polygon((across, down), _polygon_corners(element))
        case Star():
            return _in_polygon((across, down), _star_corners(element))
    return True


def _polygon_corners(element: Polygon) -> list[Point]:
    if element.polygonPoints:
        return [(point.x, point.y) for point in element.polygonPoints]
    return _fitted(element, [1.0] * element.polygonSides)


def _star_corners(element: Star) -> list[Point]:
    return _fitted(element, [1.0, element.starInnerRadius] * element.starPoints)


def _fitted(element: Element, radii: list[float]) -> list[Point]:
    count = len(radii)
    return [
        (
            element.width / 2 * (1 + radius * sin(2 * pi * number / count)),
            element.height / 2 * (1 - radius * cos(2 * pi * number / count)),
        )
        for number, radius in enumerate(radii)
    ]


def _in_polygon(point: Point, corners: list[Point]) -> bool:
    """Count how often a ray to the right crosses the outline."""
    x, y = point
    inside = False
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
            inside = not inside
    return inside
