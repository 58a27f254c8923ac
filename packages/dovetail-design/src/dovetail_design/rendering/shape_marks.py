"""Rectangles, circles, polygons, stars, paths, curves, lines and panels as marks."""

from __future__ import annotations

import math
from typing import Any

from dovetail_design.model.elements import (
    Bezier,
    Circle,
    Container,
    Line,
    Polygon,
    Rectangle,
    Star,
)
from dovetail_design.model.svg_paths import PathCommand, parse_svg_path, parse_view_box
from dovetail_design.model.values import Point
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark, StrokeLine
from dovetail_design.rendering.outlines import (
    Box,
    Ellipse,
    Outline,
    PathShape,
    fit_path,
    path_of_points,
    regular_points,
    smooth_commands,
)
from dovetail_design.rendering.painting_values import (
    border_of,
    box_of,
    corner_outline,
    fill_of,
)

__all__ = [
    "DEFAULT_FILL",
    "bezier_marks",
    "circle_marks",
    "container_marks",
    "line_marks",
    "polygon_marks",
    "rectangle_marks",
    "shape_outline",
    "star_marks",
]

# The default look of a shape without fill and stroke: light grey.
DEFAULT_FILL = "#d1d5db"
DEFAULT_LINE = 2.0


def _shape(element: Any, outline: Outline, default: str | None = DEFAULT_FILL) -> tuple[Mark, ...]:
    return (PathMark(outline, fill_of(element, default), border_of(element)),)


def rectangle_marks(element: Rectangle, _: DrawingContext) -> tuple[Mark, ...]:
    """A box."""
    return _shape(element, corner_outline(element))


def circle_marks(element: Circle, _: DrawingContext) -> tuple[Mark, ...]:
    """An ellipse."""
    return _shape(element, Ellipse(box_of(element)))


def polygon_marks(element: Polygon, _: DrawingContext) -> tuple[Mark, ...]:
    """Return a polygon, or the path that was given for it."""
    return _shape(element, polygon_outline(element))


def star_marks(element: Star, _: DrawingContext) -> tuple[Mark, ...]:
    """A star."""
    return _shape(element, star_outline(element))


def container_marks(element: Container, _: DrawingContext) -> tuple[Mark, ...]:
    """Return the panel; its children are drawn by the scene."""
    outline = corner_outline(element)
    marks = _shape(element, outline, None)
    if element.backdropBlur:
        behind = GroupMark((), clip=outline, backdrop_blur=element.backdropBlur / 2)
        return (behind, *marks)
    return marks


def bezier_marks(element: Bezier, _: DrawingContext) -> tuple[Mark, ...]:
    """A curve; without fill and stroke a black line."""
    bare = element.fill is None and element.stroke is None and not element.strokeWidth
    stroke = border_of(
        element, DEFAULT_LINE if bare or element.fill is None else 0.0, **_cap(element)
    )
    return (PathMark(bezier_outline(element), fill_of(element, None), stroke),)


def line_marks(element: Line, _: DrawingContext) -> tuple[Mark, ...]:
    """A line with its endings."""
    points = line_points(element)
    stroke = border_of(element, DEFAULT_LINE, join="round", **_cap(element))
    if stroke is None:
        return ()
    endings = [
        *_ending(element.lineStart, points[1], points[0], stroke),
        *_ending(element.lineEnd, points[-2], points[-1], stroke),
    ]
    return (PathMark(path_of_points(points, closed=False), None, stroke), *endings)


def _cap(element: Line | Bezier) -> dict[str, str]:
    return {} if element.lineCap == "butt" else {"cap": element.lineCap}


def _ending(
    kind: str, before: tuple[float, float], tip: tuple[float, float], stroke: StrokeLine
) -> list[Mark]:
    size = max(stroke.width * 3, 8.0)
    if kind == "dot":
        box = Box(tip[0] - size / 2, tip[1] - size / 2, size, size)
        return [PathMark(Ellipse(box), stroke.paint)]
    if kind == "arrow":
        angle = math.atan2(tip[1] - before[1], tip[0] - before[0])
        # Beyond the end by half a stroke, so that the square end of the line is hidden.
        front = stroke.width * 0.75
        x, y = tip[0] + front * math.cos(angle), tip[1] + front * math.sin(angle)
        corners = [(x, y)]
        for side in (-1, 1):
            turned = angle + side * math.radians(155)
            corners.append((x + size * 1.3 * math.cos(turned), y + size * 1.3 * math.sin(turned)))
        return [PathMark(path_of_points(corners, closed=True), stroke.paint)]
    return []


def line_points(element: Line) -> list[tuple[float, float]]:
    """Return the points of a line: given, or the middle of its box along the longer side."""
    if element.linePoints is not None:
        return _moved(element, element.linePoints)
    if element.width >= element.height:
        y = element.y + element.height / 2
        return [(element.x, y), (element.x + element.width, y)]
    x = element.x + element.width / 2
    return [(x, element.y), (x, element.y + element.height)]


def _moved(element: Any, points: tuple[Point, ...]) -> list[tuple[float, float]]:
    return [(element.x + point.x, element.y + point.y) for point in points]


def polygon_outline(element: Polygon) -> Outline:
    """The path, the points, or the regular polygon; in this order."""
    if element.svgPath is not None:
        return svg_path_outline(element)
    if element.polygonPoints is not None:
        return path_of_points(_moved(element, element.polygonPoints), closed=True)
    return path_of_points(regular_points(box_of(element), element.polygonSides), closed=True)


def svg_path_outline(element: Any) -> PathShape:
    """`svgPath` with its view box laid over the element's box."""
    view = parse_view_box(element.svgViewBox)
    return fit_path(parse_svg_path(element.svgPath), Box(*view), box_of(element))


def star_outline(element: Star) -> Outline:
    """The star."""
    points = regular_points(box_of(element), element.starPoints, element.starInnerRadius)
    return path_of_points(points, closed=True)


def bezier_outline(element: Bezier) -> PathShape:
    """The curve, by the number of its points."""
    points = _moved(element, element.bezierPoints)
    count, closed = len(points), element.bezierClosed
    if count == 2:
        commands = [PathCommand("M", points[0]), PathCommand("L", points[1])]
    elif count == 3:
        commands = [PathCommand("M", points[0]), PathCommand("Q", (*points[1], *points[2]))]
    elif count % 3 == 1:
        commands = [PathCommand("M", points[0])]
        for at in range(1, count, 3):
            commands.append(PathCommand("C", (*points[at], *points[at + 1], *points[at + 2])))
    else:
        commands = smooth_commands(points, closed=closed)
    if closed:
        commands.append(PathCommand("Z", ()))
    return PathShape(tuple(commands))


def shape_outline(element: Any) -> Outline | None:
    """Return the outline that a shadow follows; None if it follows the drawn content."""
    find = _OUTLINES.get(element.type)
    return None if find is None else find(element)


def _svg_outline(element: Any) -> Outline | None:
    return None if element.svgPath is None else svg_path_outline(element)


_OUTLINES: dict[str, Any] = {
    "rectangle": corner_outline,
    "image": corner_outline,
    "container": corner_outline,
    "circle": lambda element: Ellipse(box_of(element)),
    "polygon": polygon_outline,
    "star": star_outline,
    "svg": _svg_outline,
    "table": box_of,
    "qr": box_of,
}
