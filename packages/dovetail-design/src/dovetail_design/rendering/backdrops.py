"""The blurred background of a panel as a picture, for formats that cannot blur."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import Mark
from dovetail_design.rendering.outlines import Box

__all__ = ["blurred_backdrop"]

_SCALE = 2.0
_MAX_SIDE = 3_000
# A blur is invisible beyond three deviations.
_REACH = 3.0

Paint = Callable[[skia.Canvas, Sequence[Mark]], None]


def blurred_backdrop(below: Sequence[Mark], box: Box, blur: float, paint: Paint) -> bytes:
    """Return a PNG of the marks below the box, blurred."""
    scale = min(_SCALE, _MAX_SIDE / max(box.width, box.height, 1))
    around = box.outset(blur * _REACH)
    surface = skia.Surface(*(max(round(side * scale), 1) for side in (around.width, around.height)))
    canvas = surface.getCanvas()
    canvas.scale(scale, scale)
    canvas.translate(-around.x, -around.y)
    canvas.saveLayer(
        None, skia.Paint(ImageFilter=skia.ImageFilters.Blur(blur, blur, skia.TileMode.kClamp))
    )
    paint(canvas, below)
    canvas.restore()
    left, top = (
        round((at - start) * scale) for at, start in ((box.x, around.x), (box.y, around.y))
    )
    cut = skia.IRect.MakeXYWH(
        left, top, max(round(box.width * scale), 1), max(round(box.height * scale), 1)
    )
    return bytes(surface.makeImageSnapshot(cut).encodeToData())
