"""Path data by formulas: the pencil with which the shapes and pictures of the studio are drawn.

Every function returns one closed subpath in absolute commands, so pieces are joined by a blank.
A hole is a piece drawn the other way round (`hole=True`): filling by winding leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import cos, pi, radians, sin

__all__ = [
    "Point",
    "circle",
    "ellipse",
    "format_number",
    "join",
    "mirror",
    "move",
    "pie",
    "polygon",
    "polygon_points",
    "rectangle",
    "ring",
    "rounded",
    "smooth",
    "sweep",
    "turn",
]

Point = tuple[float, float]


def format_number(value: float) -> str:
    """Two decimals at most: a hundredth of a unit is less than any screen shows."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _pair(point: Point) -> str:
    return f"{format_number(point[0])} {format_number(point[1])}"


def join(*pieces: str) -> str:
    """Several subpaths as one path."""
    return " ".join(pieces)


def polygon(points: Iterable[Point], *, hole: bool = False) -> str:
    """Straight lines from point to point."""
    corners = list(points)
    if hole:
        corners.reverse()
    first, *others = corners
    return f"M{_pair(first)}" + "".join(f" L{_pair(point)}" for point in others) + " Z"


def rectangle(left: float, top: float, right: float, bottom: float, *, hole: bool = False) -> str:
    """A box by its edges."""
    return polygon([(left, top), (right, top), (right, bottom), (left, bottom)], hole=hole)


def ellipse(centre: Point, across: float, down: float, *, hole: bool = False) -> str:
    """Two half arcs; `across` and `down` are the radii."""
    x, y = centre
    sweep_flag = 0 if hole else 1
    arc = f"A{format_number(across)} {format_number(down)} 0 0 {sweep_flag}"
    start, end = (x - across, y), (x + across, y)
    return f"M{_pair(start)} {arc} {_pair(end)} {arc} {_pair(start)} Z"


def circle(centre: Point, radius: float, *, hole: bool = False) -> str:
    """An ellipse with one radius."""
    return ellipse(centre, radius, radius, hole=hole)


def ring(centre: Point, outer: float, inner: float) -> str:
    """A disc with a round hole."""
    return join(circle(centre, outer), circle(centre, inner, hole=True))


def pie(centre: Point, radius: float, start: float, end: float, *, inner: float = 0) -> str:
    """A slice between two angles (degrees, clockwise, 0 points right); a band with `inner`."""
    large = 1 if end - start > 180 else 0
    outer_start, outer_end = _on(centre, radius, start), _on(centre, radius, end)
    out = f"A{format_number(radius)} {format_number(radius)} 0 {large} 1 {_pair(outer_end)}"
    if inner <= 0:
        return f"M{_pair(centre)} L{_pair(outer_start)} {out} Z"
    back = (
        f"A{format_number(inner)} {format_number(inner)} 0 {large} 0 "
        f"{_pair(_on(centre, inner, start))}"
    )
    return f"M{_pair(outer_start)} {out} L{_pair(_on(centre, inner, end))} {back} Z"


def polygon_points(
    sides: int, *, radius: float = 45, inner: float | None = None, centre: Point = (50, 50)
) -> list[Point]:
    """The corners of a regular polygon standing on its point; of a star with `inner`."""
    radii = [radius] if inner is None else [radius, inner]
    count = sides * len(radii)
    return [
        _on(centre, radii[number % len(radii)], 360 * number / count - 90)
        for number in range(count)
    ]


def rounded(points: Sequence[Point], radius: float, *, hole: bool = False) -> str:
    """A polygon whose corners are cut by curves that start `radius` before each corner."""
    corners = list(reversed(points)) if hole else list(points)
    steps: list[str] = []
    for index, corner in enumerate(corners):
        before = _towards(corner, corners[index - 1], radius)
        after = _towards(corner, corners[(index + 1) % len(corners)], radius)
        steps.append(f"{'L' if steps else 'M'}{_pair(before)} Q{_pair(corner)} {_pair(after)}")
    return " ".join(steps) + " Z"


def smooth(points: Sequence[Point], *, tension: float = 1.0, hole: bool = False) -> str:
    """A closed curve through all points (Catmull-Rom, written as cubic Beziers)."""
    knots = list(reversed(points)) if hole else list(points)
    count = len(knots)
    steps = [f"M{_pair(knots[0])}"]
    for index in range(count):
        before, here = knots[index - 1], knots[index]
        there, after = knots[(index + 1) % count], knots[(index + 2) % count]
        first = _along(here, before, there, tension / 6)
        second = _along(there, after, here, tension / 6)
        steps.append(f"C{_pair(first)} {_pair(second)} {_pair(there)}")
    return " ".join(steps) + " Z"


def sweep(
    radius: Callable[[float], float], *, steps: int = 96, centre: Point = (50, 50)
) -> list[Point]:
    """Points of a curve given as a radius over the angle (radians, 0 points up)."""
    return [
        (
            centre[0] + radius(angle) * sin(angle),
            centre[1] - radius(angle) * cos(angle),
        )
        for angle in (2 * pi * step / steps for step in range(steps))
    ]


def turn(points: Iterable[Point], degrees: float, centre: Point = (50, 50)) -> list[Point]:
    """The points turned clockwise about a centre."""
    angle = radians(degrees)
    return [
        (
            centre[0] + (x - centre[0]) * cos(angle) - (y - centre[1]) * sin(angle),
            centre[1] + (x - centre[0]) * sin(angle) + (y - centre[1]) * cos(angle),
        )
        for x, y in points
    ]


def mirror(points: Sequence[Point], axis: float = 50) -> list[Point]:
    """An open outline and its reflection in a vertical axis, as one closed outline."""
    return [*points, *((2 * axis - x, y) for x, y in reversed(points))]


def move(points: Iterable[Point], across: float, down: float) -> list[Point]:
    """The points shifted."""
    return [(x + across, y + down) for x, y in points]


def _on(centre: Point, radius: float, degrees: float) -> Point:
    angle = radians(degrees)
    return centre[0] + radius * cos(angle), centre[1] + radius * sin(angle)


def _towards(here: Point, there: Point, distance: float) -> Point:
    across, down = there[0] - here[0], there[1] - here[1]
    length = max((across**2 + down**2) ** 0.5, 1e-9)
    # More than half an edge would overlap the curve of the next corner.
    share = min(distance / length, 0.5)
    return here[0] + across * share, here[1] + down * share


def _along(knot: Point, before: Point, after: Point, share: float) -> Point:
    return knot[0] + (after[0] - before[0]) * share, knot[1] + (after[1] - before[1]) * share
