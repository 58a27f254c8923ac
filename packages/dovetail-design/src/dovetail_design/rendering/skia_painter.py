"""Paints marks on a skia canvas, for pixels and PDF."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dovetail import ToolError
from dovetail_design.model.svg_paths import parse_svg_path
from dovetail_design.rendering.backdrops import blurred_backdrop
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.mark_bounds import mark_bounds, outline_box
from dovetail_design.rendering.marks import (
    DrawingMark,
    GroupMark,
    ImageMark,
    Mark,
    PathMark,
    StrokeLine,
    TextMark,
)
from dovetail_design.rendering.outlines import Box, PathShape
from dovetail_design.rendering.skia_shapes import (
    fill_paint,
    make_path,
    make_rect,
    stroke_paint,
)
from dovetail_design.rendering.text_blocks import TextBlock
from dovetail_design.rendering.typesetting import Typesetter

__all__ = ["SkiaPainter"]

# Time limit of a drawing; normal designs take much less.
MAX_SECONDS = 30
# Larger pictures are decoded each time: sixteen of the largest would take gigabytes.
_KEPT_PIXELS = 4_000_000
_SAMPLING = skia.SamplingOptions(skia.FilterMode.kLinear, skia.MipmapMode.kLinear)


class SkiaPainter:
    """Draws marks on one canvas. Hold the typesetter's lock while using it."""

    def __init__(
        self, canvas: skia.Canvas, typesetter: Typesetter, *, is_document: bool = False
    ) -> None:
        self.canvas = canvas
        self.typesetter = typesetter
        # In a document text is searchable, so it is written once, and there are no pixels to blur.
        self.is_document = is_document
        self._below: list[Mark] = []
        self._deadline = time.monotonic() + MAX_SECONDS

    def paint(self, marks: Sequence[Mark]) -> None:
        """Draw the marks, the first at the bottom."""
        for mark in marks:
            self._paint_all((mark,))
            self._below.append(mark)

    def _paint_all(self, marks: Sequence[Mark]) -> None:
        for mark in marks:
            if time.monotonic() > self._deadline:
                raise ToolError(
                    f"The design takes more than {MAX_SECONDS} s to draw; use fewer elements, "
                    "smaller blurs or fewer shadows"
                )
            _PAINT[type(mark)](self, mark)

    def path(self, mark: PathMark) -> None:
        """Draw a shape."""
        if mark.fill is not None:
            paint = fill_paint(mark.fill, mark.blur, is_crisp=mark.is_crisp)
            if isinstance(mark.outline, Box):
                self.canvas.drawRect(make_rect(mark.outline), paint)
            else:
                self.canvas.drawPath(make_path(mark.outline), paint)
        if mark.stroke is not None:
            self.canvas.drawPath(make_path(mark.outline), stroke_paint(mark.stroke, mark.blur))

    def text(self, mark: TextMark) -> None:
        """Draw a text, with its outline below the fill, so that letters stay legible."""
        if mark.blur:
            # Blurring each letter would take minutes, so the layer is blurred once.
            soft = skia.Paint(ImageFilter=skia.ImageFilters.Blur(mark.blur, mark.blur))
            self.canvas.saveLayer(make_rect(mark_bounds(mark, self.typesetter)), soft)
        self._letters(mark)
        if mark.blur:
            self.canvas.restore()

    def _letters(self, mark: TextMark) -> None:
        is_copy = mark.blur > 0
        if mark.stroke_width and mark.stroke_colour is not None:
            line = StrokeLine(mark.stroke_colour, mark.stroke_width, join="round")
            letters = mark.block._replace(decoration="none")
            self._set_text(letters, mark, line, stroke_paint(line), is_copy=True)
        if mark.fill is not None:
            self._set_text(mark.block, mark, mark.fill, fill_paint(mark.fill), is_copy=is_copy)

    def _set_text(
        self, block: TextBlock, mark: TextMark, key: object, paint: skia.Paint, *, is_copy: bool
    ) -> None:
        is_gradient = isinstance(key, GradientFill)
        if not self.is_document or not (is_copy or is_gradient):
            paragraph = self.typesetter.paragraph(block, key, paint)
            paragraph.paint(self.canvas, mark.x, mark.y)
            return
        if not is_copy and isinstance(key, GradientFill):
            # Some PDF viewers omit letters with a gradient fill. So the text
            # is drawn in one of its colours, with gradient-filled shapes above it.
            self._set_text(block, mark, key.stops[0][1], fill_paint(key.stops[0][1]), is_copy=False)
        for node in self.typesetter.shapes(block, mark.x, mark.y):
            data = node.get("d")
            if data:
                outline = PathShape(parse_svg_path(data, most=None))
                self.canvas.drawPath(make_path(outline), paint)

    def image(self, mark: ImageMark) -> None:
        """Draw a part of a picture."""
        self.canvas.drawImageRect(
            _decode(mark), make_rect(mark.source), make_rect(mark.target), _SAMPLING
        )

    def drawing(self, mark: DrawingMark) -> None:
        """Draw an SVG document."""
        # Copied, because the stream does not keep a reference to its data.
        document = skia.SVGDOM.MakeFromStream(skia.MemoryStream(mark.markup.encode(), True))
        if document is None:
            return
        document.setContainerSize(skia.Size(mark.width, mark.height))
        self.canvas.save()
        self.canvas.translate(mark.target.x, mark.target.y)
        self.canvas.scale(mark.target.width / mark.width, mark.target.height / mark.height)
        self.canvas.clipRect(skia.Rect.MakeWH(mark.width, mark.height))
        document.render(self.canvas)
        self.canvas.restore()

    def group(self, mark: GroupMark) -> None:
        """Draw marks together."""
        depth = self.canvas.save()
        if mark.turn is not None:
            self.canvas.rotate(*mark.turn)
        if mark.clip is not None:
            way = skia.ClipOp.kDifference if mark.clips_inside else skia.ClipOp.kIntersect
            self.canvas.clipPath(make_path(mark.clip), way, True)
        if mark.backdrop_blur:
            self._blur_behind(mark)
        layer = _layer_paint(mark)
        if layer is not None:
            reach = mark_bounds(replace(mark, turn=None), self.typesetter)
            self.canvas.saveLayer(make_rect(reach), layer)
        self._paint_all(mark.marks)
        self.canvas.restoreToCount(depth)

    def _blur_behind(self, mark: GroupMark) -> None:
        if not self.is_document:
            blur = skia.ImageFilters.Blur(*(mark.backdrop_blur,) * 2, skia.TileMode.kClamp)
            self.canvas.saveLayer(skia.Canvas.SaveLayerRec(None, None, blur, 0))
            self.canvas.restore()
        elif mark.clip is not None:
            box = outline_box(mark.clip)
            data = blurred_backdrop(self._below, box, mark.backdrop_blur, self._paint_below)
            self.canvas.drawImageRect(_unpack(data), make_rect(box), _SAMPLING)

    def _paint_below(self, canvas: skia.Canvas, marks: Sequence[Mark]) -> None:
        SkiaPainter(canvas, self.typesetter).paint(marks)


_PAINT: dict[type, Callable[[SkiaPainter, Any], None]] = {
    PathMark: SkiaPainter.path,
    TextMark: SkiaPainter.text,
    ImageMark: SkiaPainter.image,
    DrawingMark: SkiaPainter.drawing,
    GroupMark: SkiaPainter.group,
}


def _layer_paint(mark: GroupMark) -> skia.Paint | None:
    """Return the paint of a group's layer, or None if it needs no layer."""
    if mark.opacity >= 1 and not mark.blur and mark.colours is None:
        return None
    paint = skia.Paint(AntiAlias=True, Alphaf=mark.opacity)
    effect = skia.ImageFilters.Blur(mark.blur, mark.blur) if mark.blur else None
    if mark.colours is not None:
        effect = skia.ImageFilters.ColorFilter(skia.ColorFilters.Matrix(list(mark.colours)), effect)
    if effect is not None:
        paint.setImageFilter(effect)
    return paint


class _Bytes:
    """Bytes that compare by digest, to cache pictures by content."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.digest = hashlib.blake2b(data, digest_size=16).digest()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bytes) and other.digest == self.digest


def _decode(mark: ImageMark) -> skia.Image:
    if mark.source.width * mark.source.height > _KEPT_PIXELS:
        return _unpack(mark.data)
    return _decode_kept(_Bytes(mark.data))


@functools.lru_cache(maxsize=16)
def _decode_kept(data: _Bytes) -> skia.Image:
    return _unpack(data.data)


def _unpack(data: bytes) -> skia.Image:
    return skia.Image.MakeFromEncoded(skia.Data.MakeWithCopy(data)).makeRasterImage()
