"""Clipart: small coloured objects, each a few filled outlines in a box of 100 by 100.

A layer is a colour and a path; layers are painted in order. All drawn here, none copied.
"""

from __future__ import annotations

from math import cos, pi, sin

from dovetail_design.library.outlines import (
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
    turn,
)

__all__ = ["CLIPART", "Layer"]

Layer = tuple[str, str]

_INK, _WHITE, _CREAM = "#2d3047", "#ffffff", "#fdf3e1"
_RED, _ORANGE, _YELLOW, _GREEN = "#e4572e", "#f3a712", "#ffd166", "#3a9d5d"
_TEAL, _BLUE, _SKY, _VIOLET = "#2a9d8f", "#2f6fde", "#9fd3f5", "#7d5ba6"
_PINK, _BROWN, _GREY, _DARK_GREEN = "#f28aa5", "#8d5a3b", "#b7bdc9", "#237a47"
_ROSE, _GOLD, _SAND, _NIGHT = "#d64570", "#d99a06", "#e8c48a", "#24305e"


def _box(left: float, top: float, right: float, bottom: float, radius: float = 4) -> str:
    return rounded([(left, top), (right, top), (right, bottom), (left, bottom)], radius)


def _balloon(x: float, y: float, fill: str) -> list[Layer]:
    return [
        (_INK, rectangle(x - 0.6, y + 16, x + 0.6, 94)),
        (fill, ellipse((x, y), 14, 17)),
        (fill, polygon([(x - 4, y + 21), (x, y + 15), (x + 4, y + 21)])),
        ("#ffffff88", ellipse((x - 5, y - 6), 3, 5)),
    ]


def _heart(x: float, y: float, scale: float) -> str:
    """Two round lobes over a point, about a centre."""
    r = 22 * scale
    left, right, top = x - r, x + r, y - r * 0.6
    low = y + 42 * scale
    return join(
        circle((left, top), r),
        circle((right, top), r),
        polygon(
            [
                (left - r * 0.93, top + r * 0.36),
                (x, top - r * 0.1),
                (right + r * 0.93, top + r * 0.36),
                (x, low),
            ]
        ),
    )


def _tilted_ring() -> str:
    """A flat ring seen from the side, a little turned."""
    round_about = [2 * pi * step / 32 for step in range(32)]
    outer = [(50 + 48 * cos(angle), 50 + 15 * sin(angle)) for angle in round_about]
    inner = [(50 + 37 * cos(angle), 50 + 8 * sin(angle)) for angle in round_about]
    return join(smooth(turn(outer, -18)), smooth(turn(inner, -18), hole=True))


def _slice(degrees: float, fill: str) -> Layer:
    return fill, pie((50, 56), 34, degrees, degrees + 45)


CLIPART: dict[str, tuple[str, list[Layer]]] = {
    "balloons": (
        "party birthday celebration",
        [*_balloon(28, 38, _RED), *_balloon(72, 34, _BLUE), *_balloon(50, 26, _YELLOW)],
    ),
    "gift": (
        "present birthday christmas surprise box",
        [
            (_RED, _box(14, 44, 86, 92)),
            (_ROSE, _box(9, 32, 91, 50)),
            (_YELLOW, rectangle(44, 32, 56, 92)),
            (_GOLD, "M50 32 C30 32 22 10 36 9 C46 9 50 22 50 32 Z"),
            (_GOLD, "M50 32 C70 32 78 10 64 9 C54 9 50 22 50 32 Z"),
        ],
    ),
    "cake": (
        "birthday party sweet dessert food",
        [
            (_CREAM, _box(16, 46, 84, 86)),
            (
                _PINK,
                "M16 46 L84 46 L84 60 Q78 70 72 60 Q66 52 60 62 Q52 74 46 62 Q40 52 34 62 "
                "Q28 72 22 62 L16 56 Z",
            ),
            (_BROWN, rectangle(16, 72, 84, 77)),
            (_GREY, _box(8, 86, 92, 92, 3)),
            (_SKY, rectangle(47, 26, 53, 46)),
            (_ORANGE, "M50 8 C56 17 56 24 50 25 C44 24 44 17 50 8 Z"),
        ],
    ),
    "rocket": (
        "space launch startup travel",
        [
            (_ORANGE, "M40 74 C40 88 48 92 50 98 C52 92 60 88 60 74 Z"),
            (_RED, polygon([(32, 54), (16, 78), (36, 72)])),
            (_RED, polygon([(68, 54), (84, 78), (64, 72)])),
            (_WHITE, "M50 4 C68 20 70 52 64 76 L36 76 C30 52 32 20 50 4 Z"),
            (_RED, "M50 4 C57 10 61 18 63 27 L37 27 C39 18 43 10 50 4 Z"),
            (_INK, circle((50, 43), 9)),
            (_SKY, circle((50, 43), 6)),
            (_GREY, rectangle(36, 70, 64, 76)),
        ],
    ),
    "rain-cloud": (
        "weather storm drop",
        [
            (_GREY, "M28 62 A18 18 0 0 1 25 26 A23 23 0 0 1 67 22 A20 20 0 0 1 76 62 Z"),
            *(
                (
                    _BLUE,
                    "M{0} 70 C{1} 78 {1} 86 {0} 86 C{2} 86 {2} 78 {0} 70 Z".format(x, x + 5, x - 5),
                )
                for x in (30, 51, 72)
            ),
        ],
    ),
    "tree": (
        "nature forest plant wood",
        [
            (_BROWN, polygon([(45, 58), (55, 58), (58, 96), (42, 96)])),
            (_DARK_GREEN, circle((50, 32), 27)),
            (_GREEN, circle((33, 48), 19)),
            (_GREEN, circle((67, 48), 19)),
            ("#5fbf7a", circle((46, 28), 13)),
        ],
    ),
    "cactus": (
        "desert plant nature",
        [
            (_GREEN, _box(40, 12, 60, 84, 10)),
            (_GREEN, join(_box(18, 32, 30, 58, 6), _box(18, 48, 44, 59, 5))),
            (_GREEN, join(_box(70, 24, 82, 52, 6), _box(56, 42, 82, 53, 5))),
            (_RED, polygon(polygon_points(6, radius=8, inner=4, centre=(50, 12)))),
            (_BROWN, polygon([(28, 78), (72, 78), (66, 97), (34, 97)])),
        ],
    ),
    "potted-plant": (
        "nature home garden leaf",
        [
            (_DARK_GREEN, "M50 70 C20 62 12 34 22 18 C44 24 52 46 50 70 Z"),
            (_GREEN, "M50 70 C80 62 88 34 78 18 C56 24 48 46 50 70 Z"),
            ("#5fbf7a", "M50 70 C36 44 40 18 50 6 C60 18 64 44 50 70 Z"),
            (_RED, polygon([(26, 66), (74, 66), (68, 96), (32, 96)])),
            ("#c2411f", rectangle(22, 62, 78, 71)),
        ],
    ),
    "sailboat": (
        "sea boat ship travel summer ocean",
        [
            (_BROWN, rectangle(48, 8, 51, 70)),
            (_WHITE, polygon([(54, 12), (88, 62), (54, 62)])),
            (_RED, polygon([(45, 18), (45, 62), (16, 62)])),
            (_BLUE, "M8 68 L92 68 C86 84 76 88 66 88 L34 88 C24 88 14 84 8 68 Z"),
            (_SKY, "M2 90 Q14 82 26 90 Q38 98 50 90 Q62 82 74 90 Q86 98 98 90 L98 98 L2 98 Z"),
        ],
    ),
    "car": (
        "vehicle travel automobile transport",
        [
            (
                _RED,
                "M6 66 L10 50 Q12 46 18 45 L30 28 Q32 25 37 25 L62 25 Q67 25 71 29 L84 45 "
                "Q94 47 94 55 L94 70 Q94 74 90 74 L10 74 Q6 74 6 70 Z",
            ),
            (_SKY, polygon([(30, 44), (39, 31), (50, 31), (50, 44)])),
            (_SKY, polygon([(54, 44), (54, 31), (63, 31), (74, 44)])),
            (_INK, join(circle((27, 74), 11), circle((73, 74), 11))),
            (_GREY, join(circle((27, 74), 5), circle((73, 74), 5))),
            (_YELLOW, _box(87, 52, 94, 59, 2)),
        ],
    ),
    "house": (
        "home building property family",
        [
            (_CREAM, rectangle(18, 44, 82, 92)),
            (_RED, polygon([(50, 10), (94, 48), (6, 48)])),
            (_BROWN, rectangle(42, 62, 58, 92)),
            (_SKY, join(rectangle(24, 58, 36, 70), rectangle(64, 58, 76, 70))),
            (_BROWN, rectangle(70, 14, 79, 34)),
        ],
    ),
    "lighthouse": (
        "sea coast travel harbour",
        [
            (_SKY, "M2 86 Q26 76 50 86 Q74 96 98 86 L98 98 L2 98 Z"),
            (_BROWN, "M22 88 Q50 72 78 88 L84 94 L16 94 Z"),
            (_WHITE, polygon([(40, 34), (60, 34), (66, 84), (34, 84)])),
            (_RED, polygon([(39, 42), (61, 42), (62.4, 54), (37.6, 54)])),
            (_RED, polygon([(36.4, 64), (63.6, 64), (65, 76), (35, 76)])),
            (_INK, rectangle(36, 30, 64, 35)),
            (_YELLOW, rectangle(42, 18, 58, 30)),
            (_RED, polygon([(38, 18), (50, 6), (62, 18)])),
        ],
    ),
    "coffee-cup": (
        "drink cafe breakfast tea mug",
        [
            (_WHITE, ring((70, 54), 17, 10)),
            (_WHITE, "M18 36 L74 36 L70 72 Q68 84 56 84 L36 84 Q24 84 22 72 Z"),
            (_BROWN, ellipse((46, 37), 26, 5)),
            (_GREY, _box(10, 86, 84, 92, 3)),
            ("#b7bdc9aa", "M36 28 C30 20 42 16 36 6 L40 6 C46 16 34 20 40 28 Z"),
            ("#b7bdc9aa", "M52 28 C46 20 58 16 52 6 L56 6 C62 16 50 20 56 28 Z"),
        ],
    ),
    "ice-cream": (
        "summer sweet dessert food",
        [
            (_SAND, polygon([(29, 50), (71, 50), (50, 98)])),
            (
                _GOLD,
                join(
                    polygon([(39, 50), (43, 50), (58, 80), (56.4, 84)]),
                    polygon([(61, 50), (57, 50), (42, 80), (43.6, 84)]),
                ),
            ),
            (_PINK, circle((50, 36), 24)),
            (
                _CREAM,
                "M26 40 Q30 52 36 44 Q42 58 50 46 Q58 58 64 44 Q70 52 74 40 A24 24 0 0 0 26 40 Z",
            ),
            (_RED, circle((50, 11), 7)),
        ],
    ),
    "pizza-slice": (
        "food italian restaurant",
        [
            (_SAND, "M8 24 Q50 4 92 24 L84 34 Q50 18 16 34 Z"),
            (_YELLOW, "M15 32 Q50 16 85 32 L50 96 Z"),
            (_RED, join(circle((38, 40), 7), circle((60, 44), 7), circle((50, 66), 6))),
            (_DARK_GREEN, join(ellipse((48, 33), 4, 2), ellipse((45, 54), 2, 4))),
        ],
    ),
    "apple": (
        "fruit food health school",
        [
            (
                _RED,
                "M50 30 C38 20 12 24 12 54 C12 78 30 96 42 94 C47 93 53 93 58 94 "
                "C70 96 88 78 88 54 C88 24 62 20 50 30 Z",
            ),
            (_BROWN, polygon([(48, 30), (46, 10), (51, 9), (52, 30)])),
            (_GREEN, "M52 20 C56 6 70 4 80 8 C78 18 66 24 52 20 Z"),
            ("#ffffff66", ellipse((28, 48), 5, 10)),
        ],
    ),
    "book": (
        "read education school library open",
        [
            (_RED, rounded([(4, 22), (96, 22), (96, 88), (4, 88)], 4)),
            (_WHITE, "M50 30 C38 18 22 18 9 22 L9 80 C22 76 38 76 50 86 Z"),
            (_CREAM, "M50 30 C62 18 78 18 91 22 L91 80 C78 76 62 76 50 86 Z"),
            (
                _GREY,
                join(
                    *(rectangle(16, y, 42, y + 2) for y in (36, 45, 54, 63)),
                    *(rectangle(58, y, 84, y + 2) for y in (36, 45, 54, 63)),
                ),
            ),
        ],
    ),
    "lightbulb": (
        "idea light inspiration energy",
        [
            (
                _YELLOW,
                "M50 6 A30 30 0 0 1 66 61 C63 64 62 68 62 72 L38 72 C38 68 37 64 34 61 "
                "A30 30 0 0 1 50 6 Z",
            ),
            ("#ffffff99", "M34 24 A18 18 0 0 1 46 16 L47 20 A14 14 0 0 0 38 27 Z"),
            (_GREY, join(_box(38, 74, 62, 80, 2), _box(38, 82, 62, 88, 2))),
            (_INK, pie((50, 89), 8, 0, 180)),
        ],
    ),
    "camera": (
        "photo picture travel",
        [
            (_INK, _box(6, 28, 94, 84, 8)),
            (_INK, polygon([(32, 30), (40, 16), (60, 16), (68, 30)])),
            (_GREY, circle((50, 56), 22)),
            (_BLUE, circle((50, 56), 16)),
            (_SKY, circle((44, 50), 5)),
            (_RED, circle((82, 38), 4)),
            (_YELLOW, _box(12, 34, 26, 42, 2)),
        ],
    ),
    "letter": (
        "mail envelope message invitation post",
        [
            (_CREAM, rectangle(6, 26, 94, 84)),
            (_SAND, polygon([(6, 84), (42, 54), (58, 54), (94, 84)])),
            (_WHITE, polygon([(6, 26), (94, 26), (50, 62)])),
            (_RED, circle((50, 58), 8)),
        ],
    ),
    "trophy": (
        "award winner prize champion cup sport",
        [
            (_GOLD, join(ring((24, 32), 15, 9), ring((76, 32), 15, 9))),
            (_ORANGE, "M22 10 L78 10 L76 36 C74 54 62 62 50 62 C38 62 26 54 24 36 Z"),
            (_GOLD, rectangle(45, 60, 55, 78)),
            (_INK, _box(28, 78, 72, 92, 3)),
            (_YELLOW, polygon(polygon_points(5, radius=13, inner=5.5, centre=(50, 34)))),
        ],
    ),
    "medal": (
        "award winner prize sport ribbon",
        [
            (_BLUE, polygon([(24, 4), (44, 4), (58, 46), (42, 52)])),
            (_RED, polygon([(76, 4), (56, 4), (42, 46), (58, 52)])),
            (_GOLD, circle((50, 68), 27)),
            (_YELLOW, circle((50, 68), 21)),
            (_GOLD, polygon(polygon_points(5, radius=14, inner=6, centre=(50, 69)))),
        ],
    ),
    "umbrella": (
        "rain weather beach",
        [
            (_BROWN, "M48 46 L52 46 L52 86 A9 9 0 0 1 34 86 L38 86 A5 5 0 0 0 48 86 Z"),
            (
                _RED,
                "M6 52 A44 42 0 0 1 94 52 Q87 44 79 52 Q72 44 64 52 Q57 44 50 52 "
                "Q43 44 36 52 Q28 44 21 52 Q13 44 6 52 Z",
            ),
            (_ROSE, "M50 10 C40 20 36 36 36 52 Q43 44 50 52 Q57 44 64 52 C64 36 60 20 50 10 Z"),
        ],
    ),
    "fish": (
        "sea animal aquarium ocean",
        [
            (_ORANGE, polygon([(70, 50), (96, 28), (92, 50), (96, 72)])),
            (_RED, polygon([(40, 30), (60, 14), (64, 34)])),
            (_ORANGE, ellipse((42, 50), 36, 24)),
            (_WHITE, "M50 27 Q44 50 50 73 L58 71 Q52 50 58 29 Z"),
            (_WHITE, circle((22, 44), 6)),
            (_INK, circle((21, 44), 3)),
        ],
    ),
    "flower": (
        "nature garden blossom spring",
        [
            (_DARK_GREEN, rectangle(48, 46, 52, 98)),
            (_GREEN, "M50 86 C34 86 24 76 24 66 C40 64 50 72 50 86 Z"),
            (_GREEN, "M50 78 C66 78 76 68 76 58 C60 56 50 64 50 78 Z"),
            *(
                (_PINK, ellipse(point, 12, 12))
                for point in polygon_points(6, radius=18, centre=(50, 32))
            ),
            (_YELLOW, circle((50, 32), 11)),
        ],
    ),
    "mushroom": (
        "nature forest autumn",
        [
            (_CREAM, "M38 50 L62 50 C60 70 64 84 68 92 L32 92 C36 84 40 70 38 50 Z"),
            (_RED, "M6 54 C8 22 30 8 50 8 C70 8 92 22 94 54 C80 60 20 60 6 54 Z"),
            (_WHITE, join(circle((30, 34), 7), circle((56, 24), 8), circle((76, 42), 6))),
        ],
    ),
    "planet": (
        "space science astronomy",
        [
            (_VIOLET, circle((50, 50), 30)),
            ("#9b7cc4", "M24 36 Q50 46 77 37 L79 44 Q50 54 21.5 43 Z"),
            ("#9b7cc4", "M24 62 Q50 72 75 62 L71 69 Q50 76 30 69 Z"),
            (_YELLOW, _tilted_ring()),
            (_VIOLET, pie((50, 50), 30, 162, 342)),
            ("#9b7cc4", "M24 36 Q50 44 77 37 L78 41 Q50 49 22.5 41 Z"),
        ],
    ),
    "snowman": (
        "winter christmas cold snow",
        [
            (_WHITE, join(circle((50, 72), 24), circle((50, 38), 17))),
            (_INK, join(rectangle(34, 22, 66, 26), _box(40, 4, 60, 24, 2))),
            (_RED, join(_box(34, 49, 66, 55, 3), rectangle(58, 52, 64, 68))),
            (
                _INK,
                join(
                    circle((44, 35), 2.4),
                    circle((56, 35), 2.4),
                    circle((50, 66), 2.6),
                    circle((50, 76), 2.6),
                ),
            ),
            (_ORANGE, polygon([(50, 38), (50, 43), (64, 42)])),
        ],
    ),
    "christmas-tree": (
        "winter holiday celebration pine",
        [
            (_BROWN, rectangle(44, 82, 56, 96)),
            (
                _DARK_GREEN,
                polygon(mirror([(50, 12), (30, 38), (38, 38), (22, 60), (32, 60), (12, 84)])),
            ),
            (_RED, join(circle((44, 48), 3.4), circle((60, 70), 3.4), circle((34, 74), 3.4))),
            (_YELLOW, join(circle((55, 34), 3), circle((48, 64), 3), circle((70, 78), 3))),
            (_YELLOW, polygon(polygon_points(5, radius=9, inner=4, centre=(50, 11)))),
        ],
    ),
    "heart-pair": (
        "love wedding valentine romance",
        [
            (_PINK, _heart(36, 44, 0.62)),
            (_ROSE, _heart(66, 60, 0.56)),
        ],
    ),
    "chart": (
        "business statistics growth report graph",
        [
            (_GREY, join(rectangle(10, 10, 13, 90), rectangle(10, 87, 94, 90))),
            (_SKY, rectangle(22, 62, 36, 87)),
            (_BLUE, rectangle(42, 46, 56, 87)),
            (_NIGHT, rectangle(62, 28, 76, 87)),
            (
                _RED,
                polygon(
                    [
                        (20, 50),
                        (46, 30),
                        (58, 36),
                        (80, 14),
                        (74, 10),
                        (92, 6),
                        (90, 24),
                        (84, 18),
                        (59, 44),
                        (46, 38),
                        (24, 55),
                    ]
                ),
            ),
        ],
    ),
    "pie-chart": (
        "business statistics share report graph",
        [
            _slice(0, _BLUE),
            _slice(45, _BLUE),
            _slice(90, _BLUE),
            _slice(135, _SKY),
            _slice(180, _SKY),
            _slice(225, _TEAL),
            _slice(315, _RED),
            (_ORANGE, pie((54, 50), 34, 270, 315)),
        ],
    ),
}
