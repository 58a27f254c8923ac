"""Backgrounds made by rules, 1600 by 900: gradients, meshes, rays and grainy textures.

What others call a mesh is soft round spots of colour that fade into each other over a ground.
"""

from __future__ import annotations

from math import pi, sin
from random import Random

from dovetail_design.library.outlines import pie, polygon, rectangle

__all__ = ["BACKGROUNDS", "BACKGROUND_SIZE", "build_background"]

Layer = tuple[str, str]
BACKGROUND_SIZE = (1600, 900)
_WIDE, _HIGH = BACKGROUND_SIZE
_FULL = rectangle(0, 0, _WIDE, _HIGH)

_GRADIENTS: dict[str, tuple[str, str]] = {
    "sunset-gradient": ("orange pink warm evening", "linear-gradient(160deg, #ff7e5f, #feb47b)"),
    "ocean-gradient": ("blue sea water cool", "linear-gradient(150deg, #0f4c81, #2bb3c0)"),
    "forest-gradient": ("green nature", "linear-gradient(150deg, #134e3a, #5fa777)"),
    "violet-gradient": ("purple modern", "linear-gradient(135deg, #4b2a8a, #a56cc1)"),
    "midnight-gradient": ("dark night blue", "linear-gradient(180deg, #0b1026, #2b3a67)"),
    "peach-gradient": ("soft pastel warm", "linear-gradient(135deg, #ffe5d9, #ffb4a2)"),
    "mint-gradient": ("soft pastel green fresh", "linear-gradient(135deg, #e3fdf5, #a8e6cf)"),
    "silver-gradient": ("grey business neutral", "linear-gradient(160deg, #f7f8fa, #c9d1db)"),
    "gold-gradient": ("luxury yellow award", "linear-gradient(135deg, #f9e7b3, #c9962b)"),
    "spotlight": ("dark stage light", "radial-gradient(circle at 50% 40%, #4a5a8a, #10152b)"),
}

# Ground, then spots: colour, place across and down in per cent.
_MESHES: dict[str, tuple[str, str, tuple[tuple[str, int, int], ...]]] = {
    "aurora-mesh": (
        "northern lights green violet abstract",
        "#0e1a3c",
        (("#2dd4a7", 20, 20), ("#7b5cff", 75, 30), ("#1b9aaa", 55, 85)),
    ),
    "candy-mesh": (
        "pink sweet abstract playful",
        "#ffe3ec",
        (("#ff8fab", 15, 20), ("#b8c0ff", 80, 25), ("#ffd6a5", 60, 85)),
    ),
    "lagoon-mesh": (
        "blue teal water abstract",
        "#d7f5f2",
        (("#4cc9f0", 20, 25), ("#80ffdb", 75, 20), ("#5390d9", 70, 85)),
    ),
    "ember-mesh": (
        "fire red orange warm abstract",
        "#2b0f1e",
        (("#e4572e", 25, 75), ("#f3a712", 60, 95), ("#7d1d3f", 80, 15)),
    ),
    "lavender-mesh": (
        "violet soft pastel abstract",
        "#f3ecff",
        (("#cdb4ff", 20, 30), ("#ffc8dd", 80, 20), ("#bde0fe", 60, 85)),
    ),
    "citrus-mesh": (
        "yellow green fresh abstract",
        "#fffbe0",
        (("#ffe066", 20, 20), ("#b5e48c", 80, 30), ("#ffb347", 55, 90)),
    ),
    "dusk-mesh": (
        "evening violet orange abstract",
        "#2d1b4e",
        (("#ff8c61", 20, 90), ("#b8336a", 60, 60), ("#5b3a9d", 85, 15)),
    ),
    "pearl-mesh": (
        "white neutral soft elegant",
        "#fbfaf7",
        (("#e9e4f0", 20, 20), ("#f6e7d8", 80, 30), ("#e2ecef", 50, 90)),
    ),
}

# Tags, ground, colour of the grains, how many, how large.
_GRAINS: dict[str, tuple[str, str, str, int, float]] = {
    "paper-texture": ("cream vintage craft", "#f6f0e4", "#b39f7a4d", 1500, 7),
    "chalkboard-texture": ("school black dark", "#2b3a35", "#ffffff26", 1500, 8),
    "concrete-texture": ("grey stone wall", "#c4c6c8", "#6b6f7347", 1600, 8),
    "kraft-texture": ("brown cardboard craft", "#cfa97c", "#7a552e52", 1500, 7),
    "starfield": ("space night sky", "#0b1026", "#ffffffd0", 320, 8),
}

_RAYS: dict[str, tuple[str, str, str]] = {
    "retro-rays": ("sunburst vintage sun", "#f9e4b7", "#f3a712"),
    "comic-rays": ("sunburst action pop", "#e4572e", "#c23f1a"),
}

_LAYERED: dict[str, tuple[str, tuple[str, ...]]] = {
    "layered-waves": (
        "curves blue abstract modern",
        ("#e6f1fb", "#b9d9f2", "#7fb6e2", "#3d86c6", "#1d5c9c"),
    ),
    "layered-dunes": (
        "curves sand warm abstract",
        ("#fdf1dc", "#f6d7a7", "#e8b26f", "#cf8b47", "#a9652d"),
    ),
    "layered-hills": (
        "curves green nature abstract",
        ("#edf7ee", "#c4e3c9", "#8cc49a", "#4f9a68", "#2a6b45"),
    ),
}

BACKGROUNDS: dict[str, str] = {
    name: row[0]
    for table in (_GRADIENTS, _MESHES, _GRAINS, _RAYS, _LAYERED)
    for name, row in table.items()
}


def build_background(name: str) -> list[Layer]:
    """The layers of a background, bottom first."""
    if name in _GRADIENTS:
        return [(_GRADIENTS[name][1], _FULL)]
    if name in _MESHES:
        return _mesh(*_MESHES[name][1:])
    if name in _GRAINS:
        return _grains(Random(name), *_GRAINS[name][1:])
    if name in _RAYS:
        return _rays(*_RAYS[name][1:])
    return _layered(Random(name), _LAYERED[name][1])


def _mesh(ground: str, spots: tuple[tuple[str, int, int], ...]) -> list[Layer]:
    return [
        (ground, _FULL),
        *(
            (f"radial-gradient(circle at {x}% {y}%, {colour} 0%, {colour}00 62%)", _FULL)
            for colour, x, y in spots
        ),
    ]


def _grains(chance: Random, ground: str, colour: str, count: int, size: float) -> list[Layer]:
    grains = []
    for _ in range(count):
        x, y = chance.uniform(0, _WIDE), chance.uniform(0, _HIGH)
        half = size * chance.uniform(0.3, 1) / 2
        grains.append(polygon([(x, y - half), (x + half, y), (x, y + half), (x - half, y)]))
    return [(ground, _FULL), (colour, " ".join(grains))]


def _rays(ground: str, colour: str) -> list[Layer]:
    # Long enough to reach the corners; what stands over is cut at the edge of the element.
    slices = (pie((800, 450), 920, start, start + 10) for start in range(0, 360, 20))
    return [(ground, _FULL), (colour, " ".join(slices))]


def _layered(chance: Random, colours: tuple[str, ...]) -> list[Layer]:
    layers: list[Layer] = [(colours[0], _FULL)]
    for number, colour in enumerate(colours[1:]):
        base, late = 330 + 150 * number, chance.uniform(0, 2 * pi)
        top = [
            (x, base + 60 * sin(late + 2 * pi * x / 1100) + 24 * sin(2 * late + 2 * pi * x / 430))
            for x in range(0, _WIDE + 1, 25)
        ]
        layers.append((colour, polygon([(0, _HIGH), *top, (_WIDE, _HIGH)])))
    return layers
