"""Boxes on the canvas: the bounds of elements after rotation."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, radians, sin
from typing import NamedTuple

__all__ = ["Box", "around", "turn_point"]

Point = tuple[float, float]


class Box(NamedTuple):
    """The edges of an axis-aligned box."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """The width."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height."""
        return self.bottom - self.top

    @property
    def area(self) -> float:
        """Never negative."""
        return max(self.width, 0) * max(self.height, 0)

    @property
    def centre(self) -> Point:
        """The middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def meet(self, other: Box) -> Box | None:
        """Return the intersection, or None if they only touch or are apart."""
        shared = Box(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )
        return shared if shared.width > 0 and shared.height > 0 else None

    def holds(self, other: Box, slack: float = 0) -> bool:
        """Return whether the other lies inside, with a tolerance of `slack` pixels."""
        return (
            self.left - slack <= other.left
            and self.top - slack <= other.top
            and self.right + slack >= other.right
            and self.bottom + slack >= other.bottom
        )

    def grow(self, across: float, down: float) -> Box:
        """Return the box grown on every side, or shrunk for negative amounts."""
        across, down = max(across, -self.width / 2), max(down, -self.height / 2)
        return Box(self.left - across, self.top - down, self.right + across, self.bottom + down)

    def corners(self) -> list[Point]:
        """Return the corners, clockwise from the top left."""
        return [
            (self.left, self.top),
            (self.right, self.top),
            (self.right, self.bottom),
            (self.left, self.bottom),
        ]

    def spread(self, columns: int, rows: int) -> list[Point]:
        """Return points spread evenly over the inside."""
        return [
            (
                self.left + self.width * (column + 0.5) / columns,
                self.top + self.height * (row + 0.5) / rows,
            )
            for row in range(rows)
            for column in range(columns)
        ]


def around(points: Iterable[Point]) -> Box:
    """Return the smallest box that contains all points."""
    across, down = zip(*points, strict=True)
    return Box(min(across), min(down), max(across), max(down))


def turn_point(point: Point, centre: Point, degrees: float) -> Point:
    """Rotate a point clockwise about a centre."""
    if not degrees:
        return point
    angle = radians(degrees)
    across, down = point[0] - centre[0], point[1] - centre[1]
    return (
        centre[0] + across * cos(angle) - down * sin(angle),
        centre[1] + across * sin(angle) + down * cos(angle),
    )
