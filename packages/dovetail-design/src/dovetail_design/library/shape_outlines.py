"""The outlines of the shape library, drawn by us: category -> id -> path in a 100 by 100 box."""

from __future__ import annotations

from math import cos, pi, sin

from dovetail_design.library.outlines import (
    Point,
    circle,
    ellipse,
    join,
    mirror,
    pie,
    polygon,
    polygon_points,
    rectangle,
    ring,
    rounded,
    smooth,
    sweep,
    turn,
)

__all__ = ["OUTLINES"]

_BOX: list[Point] = [(6, 6), (94, 6), (94, 94), (6, 94)]
_ARROW: list[Point] = [(6, 36), (54, 36), (54, 14), (94, 50), (54, 86), (54, 64), (6, 64)]
_CROSS: list[Point] = [(36, 6), (64, 6), (64, 36), (94, 36), (94, 64), (64, 64)]
_CROSS += [(64, 94), (36, 94), (36, 64), (6, 64), (6, 36), (36, 36)]


def _heart() -> str:
    # The classic curve of a heart, scaled into the box.
    points = []
    for step in range(48):
        t = 2 * pi * step / 48
        across = 16 * sin(t) ** 3
        up = 13 * cos(t) - 5 * cos(2 * t) - 2 * cos(3 * t) - cos(4 * t)
        points.append((50 + across * 2.75, 46 - up * 2.75))
    return smooth(points)


def _crescent() -> str:
    return "M62 8 A43 43 0 1 0 92 66 A35 35 0 0 1 62 8 Z"


def _sun() -> str:
    rays = [polygon(turn([(46.5, 22), (50, 4), (53.5, 22)], 30 * number)) for number in range(12)]
    return join(circle((50, 50), 23), *rays)


def _flower(petals: int) -> str:
    return smooth(
        sweep(lambda angle: 24 + 22 * abs(cos(petals * angle / 2)) ** 0.7, steps=petals * 12)
    )


def _infinity() -> str:
    """Bernoulli's lemniscate as a band: its two edges, one drawn the other way round."""
    edges: tuple[list[Point], list[Point]] = ([], [])
    for step in range(72):
        t = 2 * pi * step / 72
        scale = 39 / (1 + sin(t) ** 2)
        x, y = 50 + scale * cos(t), 50 + 1.25 * scale * sin(t) * cos(t)
        # The direction of travel, from which the edges keep half the width of the band.
        along = -sin(t) * (1 + sin(t) ** 2 + 2 * cos(t) ** 2)
        down = 1.25 * (cos(2 * t) * (1 + sin(t) ** 2) - 2 * sin(t) ** 2 * cos(t) ** 2)
        length = (along**2 + down**2) ** 0.5
        edges[0].append((x + 7 * down / length, y - 7 * along / length))
        edges[1].append((x - 7 * down / length, y + 7 * along / length))
    return join(smooth(edges[0]), smooth(edges[1], hole=True))


def _gear(teeth: int) -> str:
    points: list[Point] = []
    step = 360 / teeth
    for number in range(teeth):
        tooth: list[Point] = [(41, 16), (44, 5), (56, 5), (59, 16)]
        points += turn(tooth, number * step)
    return join(polygon(points), circle((50, 50), 15, hole=True))


def _blob(*waves: tuple[int, float, float]) -> str:
    """A soft form: a circle with a few slow waves (count, height, shift) round its edge."""
    return smooth(
        sweep(
            lambda angle: 38 + sum(high * cos(many * angle + late) for many, high, late in waves),
            steps=40,
        )
    )


def _cloud(top: float = 22, bottom: float = 78) -> str:
    high = bottom - top
    return (
        f"M26 {bottom} A20 20 0 0 1 22 {bottom - high * 0.69:.2f} "
        f"A25 25 0 0 1 68 {top + high * 0.2:.2f} A21 21 0 0 1 78 {bottom} Z"
    )


def _scallop(count: int, depth: float = 2.6) -> str:
    return smooth(sweep(lambda angle: 45 - depth + depth * cos(count * angle), steps=count * 6))


def _quarters(*corners: tuple[float, float, float]) -> str:
    """Quarter discs of half the box, each given by its corner and the angle where it begins."""
    return join(*(pie((x, y), 50, start, start + 90) for x, y, start in corners))


def _leaf_tile() -> str:
    """Four lenses, each between two opposite corners of its quarter."""
    return join(
        *(
            f"M{a} {b} A50 50 0 0 1 {c} {d} A50 50 0 0 1 {a} {b} Z"
            for a, b, c, d in (
                (0, 0, 50, 50),
                (100, 0, 50, 50),
                (0, 100, 50, 50),
                (100, 100, 50, 50),
            )
        )
    )


def _tile_dots(count: int, radius: float) -> str:
    gap = 100 / count
    places = [gap * (number + 0.5) for number in range(count)]
    return join(*(circle((x, y), radius) for y in places for x in places))


def _stripes(count: int) -> str:
    gap = 100 / count
    return join(*(rectangle(0, gap * number, 100, gap * (number + 0.5)) for number in range(count)))


def _checks(count: int) -> str:
    size = 100 / count
    return join(
        *(
            rectangle(column * size, row * size, (column + 1) * size, (row + 1) * size)
            for row in range(count)
            for column in range(count)
            if (row + column) % 2 == 0
        )
    )


def _zigzag(top: float, high: float, thick: float) -> str:
    upper: list[Point] = [(12.5 * step, top if step % 2 else top + high) for step in range(9)]
    lower = [(x, y + thick) for x, y in reversed(upper)]
    return polygon([*upper, *lower])


def _wave(top: float, high: float) -> str:
    crest = f"M0 {top} C17 {top - high} 33 {top - high} 50 {top}"
    return f"{crest} C67 {top + high} 83 {top + high} 100 {top} L100 100 L0 100 Z"


def _frame(outer: str, inner: str) -> str:
    return join(outer, inner)


OUTLINES: dict[str, dict[str, str]] = {
    "basic": {
        "square": polygon(_BOX),
        "rounded-square": rounded(_BOX, 18),
        "circle": circle((50, 50), 45),
        "ellipse": ellipse((50, 50), 46, 30),
        "triangle": polygon([(50, 8), (95, 88), (5, 88)]),
        "right-triangle": polygon([(8, 8), (92, 92), (8, 92)]),
        "diamond": polygon(polygon_points(4, radius=46)),
        "parallelogram": polygon([(28, 18), (97, 18), (72, 82), (3, 82)]),
        "trapezoid": polygon([(26, 20), (74, 20), (96, 80), (4, 80)]),
        "pill": "M24 30 L76 30 A20 20 0 0 1 76 70 L24 70 A20 20 0 0 1 24 30 Z",
    },
    "arrows": {
        "arrow-right": polygon(_ARROW),
        "arrow-left": polygon(turn(_ARROW, 180)),
        "arrow-up": polygon(turn(_ARROW, 270)),
        "arrow-down": polygon(turn(_ARROW, 90)),
        "arrow-both": polygon(
            mirror([(50, 38), (32, 38), (32, 20), (4, 50), (32, 80), (32, 62), (50, 62)])
        ),
        "chevron-right": polygon([(22, 8), (52, 8), (86, 50), (52, 92), (22, 92), (56, 50)]),
    },
    "stars": {
        "star-5": polygon(polygon_points(5, radius=48, inner=19, centre=(50, 53))),
        "star-4": polygon(polygon_points(4, radius=47, inner=15)),
        "star-6": polygon(polygon_points(6, radius=47, inner=27)),
        "star-8": polygon(polygon_points(8, radius=47, inner=30)),
        "burst": polygon(polygon_points(12, radius=47, inner=33)),
        "seal": polygon(polygon_points(24, radius=47, inner=41)),
    },
    "callouts": {
        "speech-box": polygon([(5, 10), (95, 10), (95, 68), (48, 68), (26, 92), (29, 68), (5, 68)]),
        "speech-round": (
            "M23 8 L77 8 Q95 8 95 26 L95 52 Q95 70 77 70 L50 70 L27 93 L30 70 L23 70 "
            "Q5 70 5 52 L5 26 Q5 8 23 8 Z"
        ),
        "speech-oval": "M34 72 A45 32 0 1 1 53 75.5 L24 95 Z",
        "thought-cloud": join(_cloud(8, 64), circle((31, 76), 7), circle((20, 89), 4.5)),
    },
    "nature": {
        "cloud": _cloud(),
        "sun": _sun(),
        "moon": _crescent(),
        "lightning": polygon([(58, 4), (18, 56), (44, 56), (36, 96), (82, 40), (54, 40)]),
        "drop": "M50 4 C64 28 82 44 82 65 A32 31 0 0 1 18 65 C18 44 36 28 50 4 Z",
        "flame": (
            "M54 4 C58 24 82 38 82 66 C82 84 68 96 50 96 C32 96 18 84 18 66 C18 52 26 44 32 34 "
            "C35 42 38 46 43 48 C41 32 45 16 54 4 Z"
        ),
        "leaf": "M4 90 L18 76 C6 36 36 8 94 6 C94 62 64 94 25 83 L10 97 Z",
    },
    "symbols": {
        "heart": _heart(),
        "shield": "M50 4 L90 17 L90 50 C90 74 73 89 50 96 C27 89 10 74 10 50 L10 17 Z",
        "pin": join(
            "M50 97 C30 68 16 53 16 36 A34 33 0 0 1 84 36 C84 53 70 68 50 97 Z",
            circle((50, 37), 13, hole=True),
        ),
        "plus": polygon(_CROSS),
        "cross": polygon(turn([(x * 0.94 + 3, y * 0.94 + 3) for x, y in _CROSS], 45)),
        "check": polygon([(4, 54), (19, 39), (38, 58), (80, 14), (96, 29), (38, 89)]),
        "infinity": _infinity(),
    },
    "geometric": {
        "pentagon": polygon(polygon_points(5, radius=48, centre=(50, 53))),
        "hexagon": polygon(polygon_points(6, radius=47)),
        "octagon": polygon(turn(polygon_points(8, radius=48), 22.5)),
        "ring": ring((50, 50), 46, 28),
        "half-circle": pie((50, 72), 46, 180, 360),
        "quarter-circle": pie((6, 94), 88, 270, 360),
    },
    "extra": {
        "gear": _gear(10),
        "flower-6": _flower(6),
        "flower-8": _flower(8),
        "scallop-badge": _scallop(16),
        "ribbon": polygon(
            [(2, 30), (98, 30), (86, 50), (98, 70), (2, 70), (14, 50)],
        ),
        "bookmark": polygon([(24, 4), (76, 4), (76, 96), (50, 74), (24, 96)]),
        "price-tag": join(
            rounded([(6, 6), (50, 6), (94, 52), (52, 94), (6, 50)], 8),
            circle((27, 27), 7, hole=True),
        ),
        "ticket": ("M4 22 L96 22 L96 40 A10 10 0 0 0 96 60 L96 78 L4 78 L4 60 A10 10 0 0 0 4 40 Z"),
        "crown": polygon(
            [(6, 24), (30, 52), (50, 12), (70, 52), (94, 24), (86, 84), (14, 84)],
        ),
        "mountain": polygon([(2, 88), (34, 26), (50, 54), (64, 34), (98, 88)]),
        "pine-tree": polygon(
            mirror([(50, 4), (28, 36), (39, 36), (20, 62), (33, 62), (12, 84), (44, 84), (44, 97)])
        ),
        "house": join(
            polygon([(50, 6), (96, 48), (84, 48), (84, 94), (16, 94), (16, 48), (4, 48)]),
            rectangle(41, 62, 59, 94, hole=True),
        ),
        "arc-band": pie((50, 74), 46, 180, 360, inner=28),
        "wave": _wave(46, 30),
        "zigzag": _zigzag(30, 22, 18),
        "blob-soft": _blob((2, 4, 0.4), (3, 4, 1.1)),
        "blob-round": _blob((3, 3.5, 2.0), (5, 2, 0.3)),
        "blob-wild": _blob((2, 3, 1.9), (4, 4.5, 0.7)),
        "frame-square": _frame(rectangle(4, 4, 96, 96), rectangle(14, 14, 86, 86, hole=True)),
        "frame-round": _frame(rounded(_BOX, 26), circle((50, 50), 34, hole=True)),
        "tile-leaves": _leaf_tile(),
        "tile-quarters": _quarters((0, 0, 0), (50, 0, 0), (0, 50, 0), (50, 50, 0)),
        "tile-dots": _tile_dots(5, 6),
        "tile-stripes": _stripes(6),
        "tile-checks": _checks(6),
    },
}
