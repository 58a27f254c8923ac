"""Illustrations: landscapes and scenes built by rules from a seed, in a box of 160 by 100.

The same name gives the same picture, always: chance comes from a generator seeded by the name.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sin
from random import Random

from dovetail_design.library.outlines import (
    Point,
    circle,
    ellipse,
    join,
    polygon,
    polygon_points,
    rectangle,
    ring,
)

__all__ = ["SCENES", "SCENE_SIZE", "Layer", "build_scene"]

Layer = tuple[str, str]
SCENE_SIZE = (160, 100)
_WIDE, _HIGH = SCENE_SIZE

# Name -> sky (top, bottom), the sun or moon, far, middle and near ground, what stands on it.
_Palette = tuple[str, str, str, str, str, str, str]
_DAY: _Palette = ("#bfe3f7", "#f5fbff", "#ffd166", "#9db8cf", "#6fa58a", "#3f7d5c", "#2b5842")
_DUSK: _Palette = ("#513b73", "#f6a06a", "#fff0c2", "#8b5a86", "#5e3c6e", "#3d2752", "#24163a")
_NIGHT: _Palette = ("#0f1b3d", "#33548a", "#f4f1de", "#2c4270", "#213359", "#162544", "#0c1730")
_SAND: _Palette = ("#f9d9a8", "#fdf1dc", "#f2884b", "#e0b277", "#cf9450", "#b37538", "#6d8a4f")
_WATER: _Palette = ("#bfe3f7", "#fdf6e3", "#ffd166", "#6fb7d9", "#3f8fc0", "#24699a", "#17486e")
_STEEL: _Palette = ("#cfe6f5", "#fdf3e1", "#ffd166", "#b3c5d6", "#7f9bb5", "#4a6785", "#2d455e")
_FROST: _Palette = ("#cfe4f4", "#f6fbff", "#ffffff", "#b9cfe2", "#dbe9f4", "#f4f9fd", "#4d7c7a")


def _sky(palette: _Palette) -> Layer:
    top, bottom = palette[:2]
    return f"linear-gradient(180deg, {top}, {bottom})", rectangle(0, 0, _WIDE, _HIGH)


def _range(chance: Random, base: float, high: float, peaks: int) -> str:
    points: list[Point] = [(0, _HIGH), (0, base)]
    for number in range(peaks):
        middle = _WIDE * (number + 0.5) / peaks
        points.append((middle + chance.uniform(-6, 6), base - high * chance.uniform(0.55, 1)))
        points.append((_WIDE * (number + 1) / peaks, base - high * chance.uniform(0, 0.25)))
    return polygon([*points, (_WIDE, _HIGH)])


def _hills(chance: Random, base: float, high: float) -> str:
    late, many = chance.uniform(0, 2 * pi), chance.choice([1.0, 1.4, 1.9])
    top = [
        (x, base - high * (0.5 + 0.5 * sin(late + many * 2 * pi * x / _WIDE)))
        for x in range(0, _WIDE + 1, 5)
    ]
    return polygon([(0, _HIGH), *top, (_WIDE, _HIGH)])


def _stars(chance: Random, count: int, lowest: float = 50) -> Layer:
    dots = (
        circle((chance.uniform(2, _WIDE - 2), chance.uniform(2, lowest)), chance.uniform(0.3, 0.8))
        for _ in range(count)
    )
    return "#ffffffcc", join(*dots)


def _pine(x: float, foot: float, high: float) -> str:
    half = high * 0.28
    return join(
        polygon(
            [
                (x, foot - high),
                (x + half * 0.7, foot - high * 0.5),
                (x - half * 0.7, foot - high * 0.5),
            ]
        ),
        polygon(
            [
                (x, foot - high * 0.75),
                (x + half, foot - high * 0.12),
                (x - half, foot - high * 0.12),
            ]
        ),
        rectangle(x - high * 0.04, foot - high * 0.14, x + high * 0.04, foot),
    )


def _cloud(x: float, y: float, size: float) -> str:
    return join(
        ellipse((x, y), size, size * 0.32),
        circle((x - size * 0.35, y - size * 0.2), size * 0.34),
        circle((x + size * 0.2, y - size * 0.28), size * 0.44),
    )


def _mountains(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, tree = palette
    pines = [
        _pine(x + chance.uniform(-2, 2), 96 - chance.uniform(0, 3), chance.uniform(14, 24))
        for x in (8, 17, 26, 122, 133, 143, 153)
    ]
    return [
        _sky(palette),
        (light, circle((chance.uniform(100, 130), 26), 11)),
        (far, _range(chance, 64, 40, 4)),
        (middle, _range(chance, 76, 30, 5)),
        (near, _hills(chance, 90, 10)),
        (tree, join(*pines)),
    ]


def _sea(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, _ = palette
    x = chance.uniform(60, 100)
    waves = [
        (colour, _hills(chance, base, 5)) for colour, base in ((far, 66), (middle, 78), (near, 90))
    ]
    boat = join(
        polygon([(38, 62), (56, 62), (52, 68), (42, 68)]), polygon([(47, 42), (47, 60), (57, 60)])
    )
    return [
        _sky(palette),
        (light, circle((x, 58), 17)),
        waves[0],
        ("#ffffffdd", boat),
        *waves[1:],
    ]


def _desert(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, plant = palette
    cacti = []
    for x, high in ((24, 26), (132, 34)):
        foot = 88
        cacti += [
            rectangle(x - 2.4, foot - high, x + 2.4, foot),
            rectangle(x - 8, foot - high * 0.6, x - 5, foot - high * 0.35),
            rectangle(x - 8, foot - high * 0.4, x, foot - high * 0.33),
            rectangle(x + 5, foot - high * 0.78, x + 8, foot - high * 0.5),
            rectangle(x, foot - high * 0.56, x + 8, foot - high * 0.49),
        ]
    return [
        _sky(palette),
        (light, circle((104, 32), 14)),
        (far, _hills(chance, 72, 16)),
        (middle, _hills(chance, 84, 14)),
        (plant, join(*cacti)),
        (near, _hills(chance, 96, 9)),
    ]


def _city(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, _ = palette
    layers: list[Layer] = [_sky(palette), (light, circle((chance.uniform(24, 60), 22), 9))]
    for colour, lowest, highest, wide in (
        (far, 30, 60, 11),
        (middle, 44, 74, 14),
        (near, 60, 82, 18),
    ):
        x, blocks, windows = -2.0, [], []
        while x < _WIDE:
            width = wide * chance.uniform(0.7, 1.2)
            top = chance.uniform(lowest, highest)
            blocks.append(rectangle(x, top, x + width, _HIGH))
            columns = [x + 2 + 3.6 * number for number in range(int((width - 3) / 3.6))]
            rows = [top + 3 + 5 * number for number in range(int((_HIGH - top - 4) / 5))]
            windows += [
                rectangle(left, high, left + 1.7, high + 2.4)
                for left in columns
                for high in rows
                if chance.random() < 0.42
            ]
            x += width + 0.8
        layers += [(colour, join(*blocks)), ("#ffe9a855", join(*windows))]
    return layers


def _forest(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, tree = palette
    layers: list[Layer] = [_sky(palette), (light, circle((120, 24), 10))]
    for colour, foot, high in ((far, 78, 34), (middle, 88, 42), (near, 98, 50)):
        pines = [
            _pine(x + chance.uniform(-3, 3), foot, high * chance.uniform(0.6, 1))
            for x in range(0, _WIDE + 8, 11)
        ]
        layers.append((colour, join(*pines, rectangle(0, foot - high * 0.34, _WIDE, _HIGH))))
    layers.append((tree, rectangle(0, 96, _WIDE, _HIGH)))
    return layers


def _space(chance: Random, palette: _Palette) -> list[Layer]:
    light = palette[2]
    return [
        _sky(palette),
        _stars(chance, 90, 98),
        (light, circle((118, 34), 18)),
        ("#0000001f", join(circle((112, 30), 4), circle((125, 41), 3), circle((121, 24), 2))),
        ("#d98c5f", circle((36, 66), 11)),
        ("#f2c79b", ring((36, 66), 17, 15)),
    ]


def _meadow(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, _ = palette
    heads = {"#e4572e": [], "#ffd166": [], "#f28aa5": []}  # type: dict[str, list[str]]
    stems = []
    for _ in range(34):
        x, y = chance.uniform(4, _WIDE - 4), chance.uniform(82, 97)
        stems.append(rectangle(x - 0.3, y, x + 0.3, y + 6))
        petals = polygon(polygon_points(5, radius=2.4, inner=1.2, centre=(x, y)))
        heads[chance.choice(list(heads))].append(petals)
    return [
        _sky(palette),
        (light, circle((124, 24), 12)),
        ("#ffffffcc", join(_cloud(40, 26, 16), _cloud(88, 18, 11))),
        (far, _hills(chance, 70, 18)),
        (middle, _hills(chance, 82, 14)),
        (near, _hills(chance, 84, 5)),
        ("#2b5842", join(*stems)),
        *((colour, join(*parts)) for colour, parts in heads.items() if parts),
    ]


def _drop(x: float, y: float, size: float, wide: float) -> str:
    """A round top that runs to a point below; `wide` makes it narrower."""
    low, half, belly = y + size * 1.35, size * wide, size * wide * 1.5
    side = y + size * 0.3
    return (
        f"M{x} {low} C{x - belly} {side} {x - half} {y - size} {x} {y - size} "
        f"C{x + half} {y - size} {x + belly} {side} {x} {low} Z"
    )


def _balloons(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, _, far, _, near, _ = palette
    layers: list[Layer] = [
        _sky(palette),
        ("#ffffffcc", join(_cloud(28, 60, 15), _cloud(134, 44, 17))),
        (far, _range(chance, 86, 22, 4)),
        (near, _hills(chance, 96, 8)),
    ]
    for x, y, size, colour in (
        (52, 38, 17, "#e4572e"),
        (104, 26, 12, "#2a9d8f"),
        (124, 66, 9, "#f3a712"),
    ):
        envelope, stripe = _drop(x, y, size, 1.0), _drop(x, y, size, 0.4)
        basket = rectangle(x - size * 0.16, y + size * 1.5, x + size * 0.16, y + size * 1.78)
        layers += [(colour, envelope), ("#ffffff66", stripe), ("#6b4429", basket)]
    return layers


def _winter(chance: Random, palette: _Palette) -> list[Layer]:
    _, _, light, far, middle, near, tree = palette
    flakes = [
        circle((chance.uniform(0, _WIDE), chance.uniform(0, 90)), chance.uniform(0.4, 1.1))
        for _ in range(70)
    ]
    pines = [
        _pine(x + chance.uniform(-2, 2), 90 - chance.uniform(0, 4), chance.uniform(18, 32))
        for x in (12, 24, 36, 118, 131, 146)
    ]
    return [
        _sky(palette),
        (light, circle((120, 24), 10)),
        (far, _range(chance, 70, 34, 3)),
        (middle, _hills(chance, 84, 14)),
        (tree, join(*pines)),
        (near, _hills(chance, 94, 8)),
        ("#ffffffee", join(*flakes)),
    ]


_Builder = Callable[[Random, _Palette], list[Layer]]

# Name -> tags, category, what draws it, its colours.
SCENES: dict[str, tuple[str, str, _Builder, _Palette]] = {
    "mountain-morning": ("mountains landscape hiking outdoor lake", "landscape", _mountains, _DAY),
    "mountain-dusk": ("mountains sunset evening landscape", "landscape", _mountains, _DUSK),
    "mountain-night": ("mountains moon night landscape", "landscape", _mountains, _NIGHT),
    "calm-sea": ("ocean water boat travel summer", "landscape", _sea, _WATER),
    "sea-sunset": ("ocean sunset evening boat travel", "landscape", _sea, _DUSK),
    "moonlit-sea": ("ocean night boat moon", "landscape", _sea, _NIGHT),
    "desert-noon": ("sand cactus hot west", "landscape", _desert, _SAND),
    "desert-dusk": ("sand cactus sunset evening", "landscape", _desert, _DUSK),
    "city-day": ("skyline town buildings office business", "city", _city, _STEEL),
    "city-dusk": ("skyline town sunset buildings", "city", _city, _DUSK),
    "city-night": ("skyline town lights buildings night", "city", _city, _NIGHT),
    "forest-day": ("trees pine woods nature", "nature", _forest, _DAY),
    "forest-dusk": ("trees pine woods evening nature", "nature", _forest, _DUSK),
    "forest-night": ("trees pine woods night camping", "nature", _forest, _NIGHT),
    "outer-space": ("planet moon stars science astronomy", "space", _space, _NIGHT),
    "violet-space": ("planet moon stars galaxy", "space", _space, _DUSK),
    "spring-meadow": ("flowers garden field hills", "nature", _meadow, _DAY),
    "hot-air-balloons": ("travel adventure sky freedom", "travel", _balloons, _DAY),
    "balloons-at-dusk": ("travel adventure sky evening", "travel", _balloons, _DUSK),
    "winter-forest": ("snow christmas cold trees season", "nature", _winter, _FROST),
    "winter-night": ("snow christmas cold stars season", "nature", _winter, _NIGHT),
}


def build_scene(name: str) -> list[Layer]:
    """The layers of a scene, bottom first."""
    _, _, builder, palette = SCENES[name]
    return builder(Random(name), palette)
