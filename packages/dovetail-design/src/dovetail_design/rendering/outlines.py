"""Outlines as values: boxes, rounded boxes, ellipses and paths, in pixels of the canvas.

They do not depend on a graphics library; `skia_shapes` and `svg_shapes` convert them. They compare
by value, so the results of conversions can be cached.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dovetail_design.model.svg_paths import PathCommand

__all__ = [
    "Box",
    "Ellipse",
    "Outline",
    "PathShape",
    "Rounded",
    "fit_path",
    "path_of_points",
    "regular_points",
    "smooth_commands",
]


class Box(NamedTuple):
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> tuple[float, float]:
        """The middle."""
        return self.x + self.width / 2, self.y + self.height / 2

    def outset(self, by: float) -> Box:
        """Return the box grown on every side, or shrunk for a negative number."""
        width, height = max(self.width + 2 * by, 0.0), max(self.height + 2 * by, 0.0)
        middle_x, middle_y = self.centre
        return Box(middle_x - width / 2, middle_y - height / 2, width, height)


class Rounded(NamedTuple):
    """A rectangle with a radius for each corner, clockwise from the top left."""

    box: Box
    radii: tuple[float, float, float, float]


class Ellipse(NamedTuple):
    """The ellipse that fills a box."""

    box: Box


class PathShape(NamedTuple):
    """Commands of an SVG path, scaled and moved."""

    commands: tuple[PathCommand, ...]
    scale_x: float = 1.0
    scale_y: float = 1.0
    move_x: float = 0.0
    move_y: float = 0.0
    # Even-odd rule: what is enclosed twice is outside.
    is_even_odd: bool = False


Outline = Box | Rounded | Ellipse | PathShape


def path_of_points(points: list[tuple[float, float]], *, closed: bool) -> PathShape:
    """Straight lines through points."""
    commands = [PathCommand("L", point) for point in points]
    commands[0] = PathCommand("M", points[0])
    if closed:
        commands.append(PathCommand("Z", ()))
    return PathShape(tuple(commands))


def regular_points(box: Box, count: int, inner: float | None = None) -> list[tuple[float, float]]:
    """The corners of a regular polygon, or with `inner` of a star, whose extent fills the box."""
    steps = count if inner is None else count * 2
    raw = []
    for step in range(steps):
        radius = 1.0 if inner is None or step % 2 == 0 else inner
        angle = 2 * math.pi * step / steps - math.pi / 2
        raw.append((radius * math.cos(angle), radius * math.sin(angle)))
    left, right = min(x for x, _ in raw), max(x for x, _ in raw)
    top, bottom = min(y for _, y in raw), max(y for _, y in raw)
    return [
        (
            box.x + (x - left) / (right - left) * box.width,
            box.y + (y - top) / (bottom - top) * box.height,
        )
        for x, y in raw
    ]


def fit_path(commands: tuple[PathCommand, ...], view: Box, box: Box) -> PathShape:
    """A path whose view box is stretched over a box."""
    scale_x, scale_y = box.width / view.width, box.height / view.height
    return PathShape(commands, scale_x, scale_y, box.x - view.x * scale_x, box.y - view.y * scale_y)


def smooth_commands(points: list[tuple[float, float]], *, closed: bool) -> list[PathCommand]:
    """A curve with soft corners through every point (Catmull-Rom as cubic pieces)."""
    count = len(points)
    commands = [PathCommand("M", points[0])]
    for at in range(count if closed else count - 1):
        before = points[at - 1] if closed or at > 0 else points[at]
        here, there = points[at], points[(at + 1) % count]
        after = points[(at + 2) % count] if closed or at + 2 < count else there
        first = (here[0] + (there[0] - before[0]) / 6, here[1] + (there[1] - before[1]) / 6)
        second = (there[0] - (after[0] - here[0]) / 6, there[1] - (after[1] - here[1]) / 6)
        commands.append(PathCommand("C", (*first, *second, *there)))
    return commands
