"""A design as the checks use it: visible elements with bounds, opacity and containers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from dovetail_design.findings.boxes import Box, around, turn_point
from dovetail_design.findings.grid import Grid
from dovetail_design.findings.measuring import DrawingContext, letters_of
from dovetail_design.model import (
    Barcode,
    Bezier,
    Container,
    Design,
    Element,
    Image,
    Line,
    Qr,
    Table,
    Text,
)

__all__ = ["CONTENT", "Item", "Scene"]

# Content to be read; everything else may overlap freely.
CONTENT = (Text, Qr, Barcode, Table)


@dataclass(frozen=True, slots=True)
class Item:
    """A visible element."""

    # Its index in the design; higher ones are painted over it.
    level: int
    element: Element
    # The axis-aligned box around everything that it may paint.
    bounds: Box
    # The axis-aligned box around the content: for texts the letters, else the same as bounds.
    ink: Box
    # Its own opacity times that of its containers.
    opacity: float
    # Its containers, innermost first.
    containers: tuple[Container, ...]
    # Like ink, before rotation.
    flat: Box

    @property
    def id(self) -> str:
        """The element's id."""
        return self.element.id

    @property
    def label(self) -> str:
        """How messages refer to it."""
        element = self.element
        if element.name:
            return f"{element.type} {element.name!r}"
        if isinstance(element, Text) and element.text.strip():
            words = " ".join(element.text.split())
            return f"text {words[:30] + '...' if len(words) > 30 else words!r}"
        return f"{element.type} {element.id!r}" if element.id else element.type

    @property
    def is_content(self) -> bool:
        """Whether it is content to be read."""
        return isinstance(self.element, CONTENT)

    @property
    def turn(self) -> float:
        """The total rotation in degrees."""
        return sum(one.rotation for one in (self.element, *self.containers)) % 360

    @property
    def container(self) -> Container | None:
        """The innermost container."""
        return self.containers[0] if self.containers else None

    def spread(self, columns: int, rows: int) -> list[tuple[float, float]]:
        """Return points of the canvas, spread evenly over the content."""
        points = self.flat.spread(columns, rows)
        if not self.turn:
            return points
        return [_turned_point(point, self.element, self.containers) for point in points]


@dataclass(frozen=True)
class Scene:
    """The visible elements of a design, bottom first."""

    design: Design
    items: tuple[Item, ...]
    # The source of fonts and pictures.
    context: DrawingContext

    @classmethod
    def of(cls, design: Design, context: DrawingContext | None = None) -> Scene:
        """Build the scene of a design."""
        containers = {
            element.id: element
            for element in design.elements
            if isinstance(element, Container) and element.id
        }
        context = context or DrawingContext()
        items = [
            _item(level, element, containers, context)
            for level, element in enumerate(design.elements)
            if _is_shown(element, containers)
        ]
        return cls(design, tuple(items), context)

    @property
    def canvas(self) -> Box:
        """The edges of the canvas."""
        return Box(0, 0, self.design.width, self.design.height)

    @cached_property
    def grid(self) -> Grid:
        """The bounds by position; numbers are indexes of `items`."""
        return Grid([item.bounds for item in self.items], self.design.width, self.design.height)

    def near(self, box: Box) -> list[Item]:
        """Return items whose bounds intersect the box, bottom first."""
        return [self.items[number] for number in self.grid.near(box)]


def _ancestors(element: Element, containers: Mapping[str, Container]) -> tuple[Container, ...]:
    """Return the containers, innermost first; stops at a cycle."""
    found: list[Container] = []
    parent = containers.get(element.groupId or "")
    while parent is not None and parent is not element and parent not in found:
        found.append(parent)
        parent = containers.get(parent.groupId or "")
    return tuple(found)


def _is_shown(element: Element, containers: Mapping[str, Container]) -> bool:
    return all(one.visible for one in (element, *_ancestors(element, containers)))


def _item(
    level: int, element: Element, containers: Mapping[str, Container], context: DrawingContext
) -> Item:
    around_it = _ancestors(element, containers)
    bounds = flat = _bounds(element)
    if isinstance(element, Text):
        flat = letters_of(element, context)
        bounds = around([*bounds.corners(), *flat.corners()])
    bounds, ink = (_turned(box, element, around_it) for box in (bounds, flat))
    opacity = prod(one.opacity for one in (element, *around_it))
    return Item(level, element, bounds, ink, opacity, around_it, flat)


def _bounds(element: Element) -> Box:
    box = Box(element.x, element.y, element.x + element.width, element.y + element.height)
    points = None
    if isinstance(element, Line):
        points = element.linePoints
    elif isinstance(element, Bezier):
        points = element.bezierPoints
    if points:
        box = around((element.x + point.x, element.y + point.y) for point in points)
    if isinstance(element, Line | Bezier):
        # A flat line has no area, but it has a width.
        half = max(element.strokeWidth or 1, 1) / 2
        box = box.grow(half, half)
    return box


def _turned(box: Box, element: Element, containers: tuple[Container, ...]) -> Box:
    return around(_turned_point(corner, element, containers) for corner in box.corners())


def _turned_point(
    point: tuple[float, float], element: Element, containers: tuple[Container, ...]
) -> tuple[float, float]:
    """Rotate a point by the element and then by its containers, innermost first."""
    for one in (element, *containers):
        point = turn_point(point, (one.x + one.width / 2, one.y + one.height / 2), one.rotation)
    return point


def is_picture(item: Item) -> bool:
    """Return whether it is an image, which is both content and background."""
    return isinstance(item.element, Image)
