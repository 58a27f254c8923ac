"""Patterns made by rules, each a square of 400 by 400: layers of paint and path, bottom first.

Chance comes from a generator seeded by the name, so the same name gives the same pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sin
from random import Random

from dovetail_design.library.outlines import (
    circle,
    join,
    move,
    pie,
    polygon,
    polygon_points,
    rectangle,
    ring,
    rounded,
    smooth,
    turn,
)

__all__ = ["PATTERNS", "PATTERN_SIZE", "build_pattern"]

Layer = tuple[str, str]
PATTERN_SIZE = (400, 400)
_SIDE = 400

_Colours = tuple[str, str, str]
_Maker = Callable[[Random, _Colours], list[Layer]]


def _ground(colour: str) -> Layer:
    return colour, rectangle(0, 0, _SIDE, _SIDE)


def _grid(step: float, *, shifted: bool = False) -> list[tuple[float, float]]:
    """Places on a grid that repeats without a seam; every other row shifted by half a step."""
    count = round(_SIDE / step)
    return [
        ((column + 0.5 + (0.5 if shifted and row % 2 else 0)) * step % _SIDE, (row + 0.5) * step)
        for row in range(count)
        for column in range(count)
    ]


def _dots(chance: Random, colours: _Colours) -> list[Layer]:
    return [
        _ground(colours[0]),
        (colours[1], join(*(circle(p, 8) for p in _grid(40, shifted=True)))),
    ]


def _rings(chance: Random, colours: _Colours) -> list[Layer]:
    places = _grid(50, shifted=True)
    return [
        _ground(colours[0]),
        (colours[1], join(*(ring(p, 18, 14) for p in places))),
        (colours[2], join(*(circle(p, 5) for p in places))),
    ]


def _stripes(chance: Random, colours: _Colours) -> list[Layer]:
    bands = (
        polygon([(x, 0), (x + 25, 0), (x - 375, 400), (x - 400, 400)]) for x in range(0, 800, 50)
    )
    return [_ground(colours[0]), (colours[1], join(*bands))]


def _pinstripes(chance: Random, colours: _Colours) -> list[Layer]:
    return [
        _ground(colours[0]),
        (colours[1], join(*(rectangle(x, 0, x + 3, _SIDE) for x in range(10, _SIDE, 40)))),
        (colours[2], join(*(rectangle(x, 0, x + 1, _SIDE) for x in range(31, _SIDE, 40)))),
    ]


def _checks(chance: Random, colours: _Colours) -> list[Layer]:
    tiles = (
        rectangle(x, y, x + 50, y + 50)
        for y in range(0, _SIDE, 50)
        for x in range(0, _SIDE, 50)
        if (x + y) % 100 == 0
    )
    return [_ground(colours[0]), (colours[1], join(*tiles))]


def _gingham(chance: Random, colours: _Colours) -> list[Layer]:
    across = join(*(rectangle(0, y, _SIDE, y + 40) for y in range(0, _SIDE, 80)))
    down = join(*(rectangle(x, 0, x + 40, _SIDE) for x in range(0, _SIDE, 80)))
    return [_ground(colours[0]), (f"{colours[1]}80", across), (f"{colours[1]}80", down)]


def _chevrons(chance: Random, colours: _Colours) -> list[Layer]:
    bands = []
    for y in range(-50, _SIDE + 50, 50):
        top = [(25.0 * step, y + (0.0 if step % 2 else 25.0)) for step in range(17)]
        bands.append(polygon([*top, *reversed(move(top, 0, 22))]))
    return [_ground(colours[0]), (colours[1], join(*bands[::2])), (colours[2], join(*bands[1::2]))]


def _waves(chance: Random, colours: _Colours) -> list[Layer]:
    bands = []
    for y in range(0, _SIDE + 40, 40):
        top = [(x, y + 9 * sin(2 * pi * x / 100)) for x in range(0, _SIDE + 1, 5)]
        bands.append(polygon([*top, *reversed(move(top, 0, 9))]))
    return [_ground(colours[0]), (colours[1], join(*bands))]


def _scallops(chance: Random, colours: _Colours) -> list[Layer]:
    parts: tuple[list[str], list[str]] = ([], [])
    for row in range(-1, 9):
        for column in range(9):
            centre = (column * 50 + (25 if row % 2 else 0), row * 50 + 12)
            bow = pie(centre, 25, 0, 180, inner=19)
            parts[row % 2].append(join(bow, pie(centre, 12, 0, 180)))
    return [_ground(colours[0]), (colours[1], join(*parts[0])), (colours[2], join(*parts[1]))]


def _triangles(chance: Random, colours: _Colours) -> list[Layer]:
    parts: dict[str, list[str]] = {colour: [] for colour in colours}
    for y in range(0, _SIDE, 50):
        for x in range(0, _SIDE, 50):
            parts[chance.choice(colours)].append(polygon([(x, y), (x + 50, y), (x, y + 50)]))
            parts[chance.choice(colours)].append(
                polygon([(x + 50, y), (x + 50, y + 50), (x, y + 50)])
            )
    return [_ground(colours[0]), *((colour, join(*found)) for colour, found in parts.items())]


def _hexagons(chance: Random, colours: _Colours) -> list[Layer]:
    cells = []
    for row in range(8):
        for column in range(9):
            centre = (column * 50 + (25 if row % 2 else 0), row * 50 + 25)
            cells.append(polygon(polygon_points(6, radius=26, centre=centre)))
    return [_ground(colours[1]), (colours[0], join(*cells))]


def _crosses(chance: Random, colours: _Colours) -> list[Layer]:
    marks = []
    for x, y in _grid(50, shifted=True):
        marks += [
            rectangle(x - 2.5, y - 10, x + 2.5, y + 10),
            rectangle(x - 10, y - 2.5, x + 10, y + 2.5),
        ]
    return [_ground(colours[0]), (colours[1], join(*marks))]


def _quarters(chance: Random, colours: _Colours) -> list[Layer]:
    corners = ((0, 0, 0), (1, 0, 90), (1, 1, 180), (0, 1, 270))
    parts: dict[str, list[str]] = {colours[1]: [], colours[2]: []}
    for y in range(0, _SIDE, 80):
        for x in range(0, _SIDE, 80):
            right, down, start = chance.choice(corners)
            tile = pie((x + 80 * right, y + 80 * down), 80, start, start + 90)
            parts[chance.choice(colours[1:])].append(tile)
    return [_ground(colours[0]), *((colour, join(*found)) for colour, found in parts.items())]


def _confetti(chance: Random, colours: _Colours) -> list[Layer]:
    parts: dict[str, list[str]] = {colour: [] for colour in (*colours[1:], "#f3a712", "#2a9d8f")}
    for _ in range(150):
        x, y = chance.uniform(6, _SIDE - 6), chance.uniform(6, _SIDE - 6)
        slip = [(x - 5.0, y - 2.0), (x + 5.0, y - 2.0), (x + 5.0, y + 2.0), (x - 5.0, y + 2.0)]
        parts[chance.choice(list(parts))].append(
            polygon(turn(slip, chance.uniform(0, 180), (x, y)))
        )
    return [_ground(colours[0]), *((colour, join(*found)) for colour, found in parts.items())]


def _terrazzo(chance: Random, colours: _Colours) -> list[Layer]:
    parts: dict[str, list[str]] = {colour: [] for colour in (*colours[1:], "#d9a38f")}
    for x, y in _grid(40, shifted=True):
        centre = (x + chance.uniform(-9, 9), y + chance.uniform(-9, 9))
        radius = chance.uniform(5, 13)
        corners = [
            (centre[0] + (px - centre[0]) * chance.uniform(0.6, 1), py)
            for px, py in polygon_points(chance.choice([4, 5, 6]), radius=radius, centre=centre)
        ]
        parts[chance.choice(list(parts))].append(
            polygon(turn(corners, chance.uniform(0, 90), centre))
        )
    return [_ground(colours[0]), *((colour, join(*found)) for colour, found in parts.items())]


def _stars(chance: Random, colours: _Colours) -> list[Layer]:
    stars = (
        polygon(polygon_points(5, radius=13, inner=5.4, centre=p)) for p in _grid(50, shifted=True)
    )
    return [_ground(colours[0]), (colours[1], join(*stars))]


def _leaves(chance: Random, colours: _Colours) -> list[Layer]:
    parts: dict[str, list[str]] = {colours[1]: [], colours[2]: []}
    for number, (x, y) in enumerate(_grid(50, shifted=True)):
        blade = [(x, y - 19.0), (x + 9, y - 2), (x, y + 19), (x - 9, y - 2)]
        leaf = smooth(turn(blade, 45 if number % 2 else -45, (x, y)))
        parts[colours[1 + number % 2]].append(leaf)
    return [_ground(colours[0]), *((colour, join(*found)) for colour, found in parts.items())]


def _petals(chance: Random, colours: _Colours) -> list[Layer]:
    lenses = []
    for y in range(0, _SIDE, 100):
        for x in range(0, _SIDE, 100):
            for a, b in (
                ((0, 0), (50, 50)),
                ((100, 0), (50, 50)),
                ((0, 100), (50, 50)),
                ((100, 100), (50, 50)),
            ):
                start, end = f"{x + a[0]} {y + a[1]}", f"{x + b[0]} {y + b[1]}"
                lenses.append(f"M{start} A50 50 0 0 1 {end} A50 50 0 0 1 {start} Z")
    return [_ground(colours[0]), (colours[1], join(*lenses))]


def _brush_rows(chance: Random, colours: _Colours) -> list[Layer]:
    strokes = []
    for row, y in enumerate(range(15, _SIDE, 40)):
        for x in range(-20 + row % 2 * 20, _SIDE, 60):
            right = x + chance.uniform(26, 42)
            strokes.append(rounded([(x, y), (right, y), (right, y + 10), (x, y + 10)], 5))
    return [_ground(colours[0]), (colours[1], join(*strokes))]


def _circuit(chance: Random, colours: _Colours) -> list[Layer]:
    lines, nodes = [], []
    for x, y in _grid(50):
        right = chance.random() < 0.5
        lines.append(
            rectangle(x - 1.5, y - 1.5, x + 51.5, y + 1.5)
            if right
            else rectangle(x - 1.5, y - 1.5, x + 1.5, y + 51.5)
        )
        if chance.random() < 0.6:
            nodes.append(circle((x, y), 6))
    return [_ground(colours[0]), (colours[1], join(*lines)), (colours[2], join(*nodes))]


def _maze(chance: Random, colours: _Colours) -> list[Layer]:
    parts = []
    for y in range(0, _SIDE, 40):
        for x in range(0, _SIDE, 40):
            a, b = (
                ((x, y), (x + 40, y + 40)) if chance.random() < 0.5 else ((x + 40, y), (x, y + 40))
            )
            parts.append(pie(a, 24, 0 if a[0] == x else 90, 90 if a[0] == x else 180, inner=16))
            parts.append(pie(b, 24, 180 if b[0] > x else 270, 270 if b[0] > x else 360, inner=16))
    return [_ground(colours[0]), (colours[1], join(*parts))]


# Name -> tags, what draws it, its colours (ground first).
PATTERNS: dict[str, tuple[str, _Maker, _Colours]] = {
    "polka-dots": ("round retro playful", _dots, ("#fff4e6", "#e4572e", "#f3a712")),
    "target-rings": ("circle retro geometric", _rings, ("#eef5f4", "#2a9d8f", "#e76f51")),
    "diagonal-stripes": ("lines candy", _stripes, ("#fdfcfb", "#f28aa5", "#e4572e")),
    "pinstripes": ("lines elegant business", _pinstripes, ("#24305e", "#41518c", "#5f72b5")),
    "checkerboard": ("squares chess race", _checks, ("#ffffff", "#2d3047", "#2d3047")),
    "gingham": ("cloth picnic kitchen", _gingham, ("#ffffff", "#d64545", "#d64545")),
    "chevrons": ("zigzag arrows", _chevrons, ("#fdf8ef", "#2a9d8f", "#f3a712")),
    "waves": ("water sea curves", _waves, ("#e6f4fb", "#4ba3d3", "#2f6fde")),
    "scallops": ("shell sea art-deco", _scallops, ("#f4fbfa", "#2a9d8f", "#76c7bd")),
    "triangles": ("geometric mosaic modern", _triangles, ("#f4f1ea", "#b8c7d9", "#7e93ad")),
    "honeycomb": ("hexagon bee geometric", _hexagons, ("#ffd166", "#f3a712", "#d99a06")),
    "plus-signs": ("swiss medical minimal", _crosses, ("#f7f7fb", "#7d5ba6", "#7d5ba6")),
    "quarter-circles": (
        "bauhaus geometric modern abstract",
        _quarters,
        ("#f6efe3", "#d1495b", "#30638e"),
    ),
    "confetti": ("party celebration birthday", _confetti, ("#ffffff", "#e4572e", "#2f6fde")),
    "terrazzo": ("stone floor texture", _terrazzo, ("#f7f3ee", "#5b7f95", "#b7a892")),
    "stars": ("night celebration kids", _stars, ("#24305e", "#ffd166", "#ffd166")),
    "leaves": ("nature plant green botanical", _leaves, ("#f3f8f1", "#5fa777", "#237a47")),
    "petals": ("flower tile geometric floral", _petals, ("#fff5f7", "#d64570", "#d64570")),
    "brush-strokes": ("paint memphis modern", _brush_rows, ("#fffaf0", "#2d3047", "#2d3047")),
    "circuit": ("technology computer lines", _circuit, ("#0f1b3d", "#2f6fde", "#9fd3f5")),
    "maze": ("labyrinth curves truchet", _maze, ("#f5f5f0", "#44546a", "#44546a")),
}


def build_pattern(name: str) -> list[Layer]:
    """The layers of a pattern, bottom first."""
    _, maker, colours = PATTERNS[name]
    return maker(Random(name), colours)
