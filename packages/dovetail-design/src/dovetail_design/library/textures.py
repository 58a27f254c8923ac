"""Textures: many small diamonds at random places, such as the grain of paper.

A texture is computed, not stored as SVG: it has about 1,500 grains that nobody edits one by one,
and a file would be 90 kB. The parameters are in `data/backgrounds/index.json`.
"""

from __future__ import annotations

from random import Random

import msgspec

from dovetail_design.library.data_files import Layer
from dovetail_design.library.svg_text import format_number, rectangle

__all__ = ["Texture", "build_texture"]

_Point = tuple[float, float]


class Texture(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a texture."""

    background: str
    color: str
    # How many grains, and the width of the largest.
    count: int
    size: float


def build_texture(texture: Texture, seed: str, width: int, height: int) -> tuple[Layer, ...]:
    """The layers of a texture; the same seed gives the same grains."""
    random = Random(seed)
    grains = []
    for _ in range(texture.count):
        x, y = random.uniform(0, width), random.uniform(0, height)
        half = texture.size * random.uniform(0.3, 1) / 2
        corners = [(x, y - half), (x + half, y), (x, y + half), (x - half, y)]
        rounded = [(round(a, 2), round(b, 2)) for a, b in corners]
        grains.append(_polygon(_clip(rounded, width, height)))
    return (
        (texture.background, rectangle(width, height)),
        (texture.color, " ".join(grains)),
    )


def _polygon(points: list[_Point]) -> str:
    pairs = [f"{format_number(x)} {format_number(y)}" for x, y in points]
    return f"M{' L'.join(pairs)} Z"


def _clip(corners: list[_Point], width: float, height: float) -> list[_Point]:
    """Cut a polygon at the edges of the box (Sutherland-Hodgman).

    An svg element draws its whole path, including the parts outside of the view box.
    """
    edges = ((0, 0.0, False), (0, width, True), (1, 0.0, False), (1, height, True))
    for axis, limit, keeps_below in edges:
        kept: list[_Point] = []
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


def _crossing(one: _Point, two: _Point, axis: int, limit: float) -> _Point:
    share = (limit - one[axis]) / (two[axis] - one[axis])
    other = one[1 - axis] + (two[1 - axis] - one[1 - axis]) * share
    return (limit, other) if axis == 0 else (other, limit)
