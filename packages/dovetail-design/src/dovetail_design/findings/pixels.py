"""Samples pixels of the rendered design: the colours behind letters, and what covers them.

Readable content is left out, so the picture shows only backgrounds. It is rendered once, and again
only for a text with something painted above it, up to a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from dovetail import ToolError
from dovetail_design.findings.scene import Item, Scene
from dovetail_design.model import Design, Rgba
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import Mark
from dovetail_design.rendering.scene import background_marks, compose_scene
from dovetail_design.rendering.skia_painter import SkiaPainter

__all__ = ["PixelSampler"]

Point = tuple[float, float]

# Backgrounds need no detail: this many pixels along the longer side show every gradient.
_LONGEST = 400
# The most extra renderings per scene.
_MOST_PICTURES = 48
_COLUMNS, _ROWS = 20, 6


@dataclass(frozen=True)
class _Picture:
    """Pixels as red, green, blue, alpha, row by row."""

    data: bytes
    width: int
    height: int
    scale: float

    def at(self, point: Point) -> tuple[int, int, int, int] | None:
        column, row = int(point[0] * self.scale), int(point[1] * self.scale)
        if not (0 <= column < self.width and 0 <= row < self.height):
            return None
        start = 4 * (row * self.width + column)
        red, green, blue, alpha = self.data[start : start + 4]
        return red, green, blue, alpha


class PixelSampler:
    """Samples pixels of one scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ground: _Picture | None = None
        self._left = _MOST_PICTURES

    def behind(self, item: Item) -> Counter[Rgba]:
        """Return the colours behind an item, with the number of pixels of each."""
        picture = self._grounds_for(item)
        found: Counter[Rgba] = Counter()
        for point in item.spread(_COLUMNS, _ROWS):
            pixel = picture.at(point)
            if pixel is not None:
                found[Rgba(*pixel[:3])] += 1
        return found

    def alphas(self, item: Item, points: Sequence[Point]) -> list[float]:
        """Return the opacity of an item alone at each point."""
        if self._left <= 0:
            return [0.0] * len(points)
        self._left -= 1
        picture = self._draw([item], is_transparent=True)
        return [(pixel[3] / 255 if (pixel := picture.at(point)) else 0.0) for point in points]

    def _grounds_for(self, item: Item) -> _Picture:
        around = [other for other in self._scene.near(item.ink) if not other.is_content]
        if self._left > 0 and any(other.level > item.level for other in around):
            self._left -= 1
            return self._draw([other for other in around if other.level < item.level])
        if self._ground is None:
            self._ground = self._draw(
                [other for other in self._scene.items if not other.is_content]
            )
        return self._ground

    def _draw(self, items: Iterable[Item], *, is_transparent: bool = False) -> _Picture:
        design, context = self._scene.design, self._scene.context
        scale = min(1.0, _LONGEST / max(design.width, design.height))
        width = max(1, round(design.width * scale))
        height = max(1, round(design.height * scale))
        surface = skia.Surface(width, height)
        with surface as canvas:
            canvas.clear(0x00000000 if is_transparent else 0xFFFFFFFF)
            canvas.scale(scale, scale)
            shown = msgspec.structs.replace(design, elements=tuple(item.element for item in items))
            with context.typesetter.lock:
                painter = SkiaPainter(canvas, context.typesetter)
                if not is_transparent:
                    painter.paint(background_marks(design))
                painter.paint(_marks(shown, self._scene))
        pixels = surface.toarray(colorType=skia.ColorType.kRGBA_8888_ColorType)
        return _Picture(pixels.tobytes(), width, height, scale)


def _marks(design: Design, scene: Scene) -> tuple[Mark, ...]:
    """Return the marks of all elements that can be drawn; others have a finding of their own."""
    try:
        return tuple(compose_scene(design, scene.context))
    except ToolError:
        marks: list[Mark] = []
        for element in design.elements:
            try:
                alone = msgspec.structs.replace(design, elements=(element,))
                marks += compose_scene(alone, scene.context)
            except ToolError:
                continue
        return tuple(marks)
