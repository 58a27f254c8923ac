"""Effects of all elements: rotation, opacity, filters, shadows."""

from __future__ import annotations

import functools
import math

from dovetail_design.model.element_groups import Element
from dovetail_design.model.shadows import Shadow, parse_box_shadow
from dovetail_design.model.svg_paths import PathCommand
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark, StrokeLine, TextMark
from dovetail_design.rendering.outlines import Box, Ellipse, Outline, PathShape, Rounded
from dovetail_design.rendering.painting_values import box_of
from dovetail_design.rendering.shape_marks import shape_outline

__all__ = ["apply_effects", "colour_matrix"]

_RED, _GREEN, _BLUE = 0.2126, 0.7152, 0.0722
_IDENTITY: tuple[float, ...] = (1.0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, 1.0, 0)


def apply_effects(
    element: Element, marks: tuple[Mark, ...], inside: tuple[Mark, ...] = ()
) -> Mark | None:
    """Return the marks of an element and its children with all effects."""
    if element.boxShadow:
        marks = _with_shadows(element, marks)
    marks += inside
    if not marks:
        return None
    turn = None
    if element.rotation % 360:
        turn = (
            element.rotation,
            element.x + element.width / 2,
            element.y + element.height / 2,
        )
    colours = colour_matrix(
        element.brightness, element.contrast, element.saturate, element.hueRotate
    )
    if turn is None and element.opacity >= 1 and not element.blur and colours is None:
        if len(marks) == 1:
            return marks[0]
        return GroupMark(marks, name=element.name)
    return GroupMark(
        marks,
        turn=turn,
        opacity=element.opacity,
        blur=element.blur,
        colours=colours,
        name=element.name,
    )


@functools.lru_cache(maxsize=256)
def colour_matrix(
    brightness: float, contrast: float, saturate: float, hue: float
) -> tuple[float, ...] | None:
    """Return CSS filters, in this order, as one matrix; None if nothing changes."""
    if brightness == contrast == saturate == 100 and not hue % 360:
        return None
    matrix = _IDENTITY
    for step in (
        _scaled(brightness / 100, 0.0),
        _scaled(contrast / 100, 0.5 - contrast / 200),
        _saturated(saturate / 100),
        _turned(math.radians(hue)),
    ):
        matrix = _multiply(step, matrix)
    return matrix


def _scaled(factor: float, offset: float) -> tuple[float, ...]:
    return (
        *(factor, 0, 0, 0, offset),
        *(0, factor, 0, 0, offset),
        *(0, 0, factor, 0, offset),
        *(0, 0, 0, 1.0, 0),
    )


def _saturated(amount: float) -> tuple[float, ...]:
    # Filter Effects Module Level 1, feColorMatrix of type saturate.
    rest = 1 - amount
    return (
        *(_RED * rest + amount, _GREEN * rest, _BLUE * rest, 0, 0),
        *(_RED * rest, _GREEN * rest + amount, _BLUE * rest, 0, 0),
        *(_RED * rest, _GREEN * rest, _BLUE * rest + amount, 0, 0),
        *(0, 0, 0, 1.0, 0),
    )


def _turned(angle: float) -> tuple[float, ...]:
    # Filter Effects Module Level 1, feColorMatrix of type hueRotate.
    cos, sin = math.cos(angle), math.sin(angle)
    return (
        0.213 + cos * 0.787 - sin * 0.213,
        0.715 - cos * 0.715 - sin * 0.715,
        0.072 - cos * 0.072 + sin * 0.928,
        0,
        0,
        0.213 - cos * 0.213 + sin * 0.143,
        0.715 + cos * 0.285 + sin * 0.140,
        0.072 - cos * 0.072 - sin * 0.283,
        0,
        0,
        0.213 - cos * 0.213 - sin * 0.787,
        0.715 - cos * 0.715 + sin * 0.715,
        0.072 + cos * 0.928 + sin * 0.072,
        0,
        0,
        *(0, 0, 0, 1.0, 0),
    )


def _multiply(left: tuple[float, ...], right: tuple[float, ...]) -> tuple[float, ...]:
    """Return the matrix that applies `right` and then `left`."""
    product = []
    for row in range(4):
        for column in range(5):
            value = sum(left[row * 5 + at] * right[at * 5 + column] for at in range(4))
            product.append(value + (left[row * 5 + 4] if column == 4 else 0.0))
    return tuple(product)


def _with_shadows(element: Element, marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    shadows = parse_box_shadow(element.boxShadow or "")
    outline = shape_outline(element)
    # The first shadow is the topmost.
    outer = [shadow for shadow in reversed(shadows) if not shadow.is_inset]
    inner = [shadow for shadow in reversed(shadows) if shadow.is_inset]
    if outline is None:
        cast = tuple(_repeated(marks, shadow) for shadow in outer)
        return (*cast, *marks)
    below = tuple(_cast(outline, shadow) for shadow in outer)
    above = tuple(_cast_inside(outline, shadow, box_of(element)) for shadow in inner)
    return (*below, *marks, *above)


def _cast(outline: Outline, shadow: Shadow) -> Mark:
    """A blurred copy of the outline below the element, cut out where the element is."""
    shape, stroke = _grown(_moved(outline, shadow.x, shadow.y), shadow)
    mark = PathMark(shape, shadow.colour, stroke, blur=shadow.blur / 2)
    return GroupMark((mark,), clip=outline, clips_inside=True)


def _cast_inside(outline: Outline, shadow: Shadow, box: Box) -> Mark:
    """A blurred frame around the outline, clipped to the inside."""
    # As thick as the shadow can reach, so that its outer edge is never visible.
    width = 4 * (shadow.blur + abs(shadow.x) + abs(shadow.y) + abs(shadow.spread)) + 8
    if isinstance(outline, PathShape):
        moved = outline._replace(move_x=outline.move_x + shadow.x, move_y=outline.move_y + shadow.y)
        around = PathMark(
            _turned_out(moved, box.outset(width)), shadow.colour, blur=shadow.blur / 2
        )
        return GroupMark((around,), clip=outline)
    hole = _widened(_moved(outline, shadow.x, shadow.y), -shadow.spread)
    # A stroke covers both sides of its line, so the line is moved out by the inner half.
    frame = StrokeLine(shadow.colour, width)
    rim = PathMark(_widened(hole, width / 2), None, frame, blur=shadow.blur / 2)
    return GroupMark((rim,), clip=outline)


def _turned_out(shape: PathShape, box: Box) -> PathShape:
    """Return a box without the shape."""
    left, top = (box.x - shape.move_x) / shape.scale_x, (box.y - shape.move_y) / shape.scale_y
    wide, high = box.width / shape.scale_x, box.height / shape.scale_y
    frame = (
        PathCommand("M", (left, top)),
        PathCommand("H", (left + wide,)),
        PathCommand("V", (top + high,)),
        PathCommand("H", (left,)),
        PathCommand("Z", ()),
    )
    return shape._replace(commands=(*frame, *shape.commands), is_even_odd=True)


def _widened(outline: Outline, by: float) -> Outline:
    """Return the outline grown on every side; a path is not changed."""
    if isinstance(outline, Box):
        return outline.outset(by)
    if isinstance(outline, Rounded):
        return Rounded(
            outline.box.outset(by),
            tuple(radius + by if radius else 0.0 for radius in outline.radii),  # type: ignore[arg-type]
        )
    if isinstance(outline, Ellipse):
        return Ellipse(outline.box.outset(by))
    return outline


def _grown(outline: Outline, shadow: Shadow) -> tuple[Outline, StrokeLine | None]:
    """Return the outline spread out; a path gets a stroke, which cannot make it smaller."""
    if not shadow.spread:
        return outline, None
    if isinstance(outline, PathShape):
        if shadow.spread < 0:
            return outline, None
        return outline, StrokeLine(shadow.colour, 2 * shadow.spread, join="round")
    return _widened(outline, shadow.spread), None


def _moved(outline: Outline, x: float, y: float) -> Outline:
    if isinstance(outline, PathShape):
        return outline._replace(move_x=outline.move_x + x, move_y=outline.move_y + y)
    if isinstance(outline, Box):
        return outline._replace(x=outline.x + x, y=outline.y + y)
    return outline._replace(box=outline.box._replace(x=outline.box.x + x, y=outline.box.y + y))


def _repeated(marks: tuple[Mark, ...], shadow: Shadow) -> Mark:
    """Return a moved, blurred copy of the marks in the shadow's colour, for lines and text."""
    copies: list[Mark] = []
    for mark in marks:
        if isinstance(mark, TextMark):
            copies.append(
                TextMark(
                    mark.block,
                    mark.x + shadow.x,
                    mark.y + shadow.y,
                    shadow.colour,
                    blur=shadow.blur / 2,
                )
            )
        elif isinstance(mark, PathMark):
            stroke = mark.stroke
            if stroke is not None:
                stroke = StrokeLine(
                    shadow.colour, stroke.width, stroke.cap, stroke.dashes, stroke.join
                )
            fill = None if mark.fill is None else shadow.colour
            moved = _moved(mark.outline, shadow.x, shadow.y)
            copies.append(PathMark(moved, fill, stroke, blur=shadow.blur / 2))
    return GroupMark(tuple(copies))
