"""Paths cut off at the edges of a box.

An svg element draws all of its path, also what lies outside its view box, so pictures that run to
their edges have to end there by themselves. Only outlines that do run over are touched: they
become polygons (curves in short steps) and are cut one edge after the other (Sutherland and
Hodgman), which is exact for the pieces that the library draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import acos, cos, hypot, pi, sin

from dovetail_design.library.outlines import Point, polygon
from dovetail_design.model.svg_paths import parse_svg_path

__all__ = ["clip_path"]

_Command = tuple[str, tuple[float, ...]]
_SLACK = 0.01
# Steps of a curve: a fortieth of a circle is straight to the eye at these sizes.
_STEPS = 20


def clip_path(path: str, width: float, height: float) -> str:
    """The path without what lies outside 0, 0, width, height; empty if nothing is inside."""
    pieces = []
    for subpath in _split(path):
        corners = _flatten(subpath)
        across, down = zip(*corners, strict=True)
        inside = (
            min(across) >= -_SLACK
            and min(down) >= -_SLACK
            and max(across) <= width + _SLACK
            and max(down) <= height + _SLACK
        )
        if inside:
            pieces.append(_write(subpath))
            continue
        cut = _cut(corners, width, height)
        if len(cut) > 2:
            pieces.append(polygon(cut))
    return " ".join(pieces)


def _split(path: str) -> Iterator[list[_Command]]:
    subpath: list[_Command] = []
    for letter, values in parse_svg_path(path):
        if letter == "M" and subpath:
            yield subpath
            subpath = []
        subpath.append((letter, tuple(values)))
    if subpath:
        yield subpath


def _write(subpath: Sequence[_Command]) -> str:
    return " ".join(
        f"{letter}{' '.join(f'{value:g}' for value in values)}" for letter, values in subpath
    )


def _flatten(subpath: Sequence[_Command]) -> list[Point]:
    points: list[Point] = []
    for letter, values in subpath:
        if letter == "Z":
            continue
        if letter not in _CURVES:
            raise ValueError(f"{letter!r} is not drawn by the library; it writes M, L, C, Q, A, Z")
        points += _CURVES[letter](points[-1] if points else (0.0, 0.0), values)
    return points


def _line(_: Point, values: Sequence[float]) -> list[Point]:
    return [(values[0], values[1])]


def _cubic(start: Point, values: Sequence[float]) -> list[Point]:
    a, b, c, d, x, y = values
    return [
        (
            _bernstein(step / _STEPS, (start[0], a, c, x)),
            _bernstein(step / _STEPS, (start[1], b, d, y)),
        )
        for step in range(1, _STEPS + 1)
    ]


def _quadratic(start: Point, values: Sequence[float]) -> list[Point]:
    a, b, x, y = values
    first = (start[0] + (a - start[0]) * 2 / 3, start[1] + (b - start[1]) * 2 / 3)
    second = (x + (a - x) * 2 / 3, y + (b - y) * 2 / 3)
    return _cubic(start, (*first, *second, x, y))


def _bernstein(t: float, values: Sequence[float]) -> float:
    rest = 1 - t
    a, b, c, d = values
    return rest**3 * a + 3 * rest**2 * t * b + 3 * rest * t**2 * c + t**3 * d


def _arc(start: Point, values: Sequence[float]) -> list[Point]:
    """From two ends to a centre, as the notes on implementing arcs in SVG have it."""
    across, down, _, large, sweep, x, y = values
    half_x, half_y = (start[0] - x) / 2, (start[1] - y) / 2
    stretch = hypot(half_x / across, half_y / down)
    if stretch > 1:
        across, down = across * stretch, down * stretch
    square = (half_x / across) ** 2 + (half_y / down) ** 2
    reach = max(0.0, 1 / square - 1) ** 0.5 if square else 0.0
    side = -1 if large == sweep else 1
    middle_x, middle_y = (
        side * reach * across * half_y / down,
        -side * reach * down * half_x / across,
    )
    centre = (middle_x + (start[0] + x) / 2, middle_y + (start[1] + y) / 2)
    begin = _angle((half_x - middle_x) / across, (half_y - middle_y) / down)
    end = _angle((-half_x - middle_x) / across, (-half_y - middle_y) / down)
    turn = (end - begin) % (2 * pi) if sweep else -((begin - end) % (2 * pi))
    return [
        (
            centre[0] + across * cos(begin + turn * step / _STEPS),
            centre[1] + down * sin(begin + turn * step / _STEPS),
        )
        for step in range(1, _STEPS + 1)
    ]


def _angle(x: float, y: float) -> float:
    value = acos(max(-1.0, min(1.0, x / max(hypot(x, y), 1e-12))))
    return value if y >= 0 else -value


_CURVES: dict[str, Callable[[Point, Sequence[float]], list[Point]]] = {
    "M": _line,
    "L": _line,
    "C": _cubic,
    "Q": _quadratic,
    "A": _arc,
}


def _cut(corners: list[Point], width: float, height: float) -> list[Point]:
    edges = ((0, 0.0, False), (0, width, True), (1, 0.0, False), (1, height, True))
    for axis, limit, keeps_below in edges:
        kept: list[Point] = []
        for index, here in enumerate(corners):
            before = corners[index - 1]
            is_in = here[axis] <= limit if keeps_below else here[axis] >= limit
            was_in = before[axis] <= limit if keeps_below else before[axis] >= limit
            if is_in != was_in:
                kept.append(_crossing(before, here, axis, limit))
            if is_in:
                kept.append(here)
        corners = kept
    return corners


def _crossing(one: Point, two: Point, axis: int, limit: float) -> Point:
    share = (limit - one[axis]) / (two[axis] - one[axis])
    other = one[1 - axis] + (two[1 - axis] - one[1 - axis]) * share
    return (limit, other) if axis == 0 else (other, limit)
