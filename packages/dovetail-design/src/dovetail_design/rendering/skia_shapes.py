"""Converts outlines, fills and strokes to skia; equal values are cached."""

from __future__ import annotations

import functools

from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import Fill, StrokeLine
from dovetail_design.rendering.outlines import Box, Ellipse, Outline, PathShape, Rounded

__all__ = ["fill_paint", "make_path", "make_rect", "stroke_paint"]

_CAPS = {
    "butt": skia.Paint.kButt_Cap,
    "round": skia.Paint.kRound_Cap,
    "square": skia.Paint.kSquare_Cap,
}
_JOINS = {"miter": skia.Paint.kMiter_Join, "round": skia.Paint.kRound_Join}


def make_rect(box: Box) -> skia.Rect:
    """A box as skia's rectangle."""
    return skia.Rect.MakeXYWH(*box)


@functools.lru_cache(maxsize=2048)
def make_path(outline: Outline) -> skia.Path:
    """Return an outline as a path; it is cached, so do not modify it."""
    path = skia.Path()
    if isinstance(outline, Box):
        path.addRect(make_rect(outline))
    elif isinstance(outline, Ellipse):
        path.addOval(make_rect(outline.box))
    elif isinstance(outline, Rounded):
        rounded = skia.RRect()
        rounded.setRectRadii(
            make_rect(outline.box), [skia.Point(radius, radius) for radius in outline.radii]
        )
        path.addRRect(rounded)
    else:
        _add_commands(path, outline)
    return path


def _add_commands(path: skia.Path, shape: PathShape) -> None:
    pen = _Pen(path)
    for letter, numbers in shape.commands:
        pen.draw(letter, numbers)
    if shape.is_even_odd:
        path.setFillType(skia.PathFillType.kEvenOdd)
    if shape[1:5] != (1.0, 1.0, 0.0, 0.0):
        path.transform(
            skia.Matrix.MakeAll(
                shape.scale_x, 0, shape.move_x, 0, shape.scale_y, shape.move_y, 0, 0, 1
            )
        )


class _Pen:
    """Draws the commands of an SVG path; keeps the state for relative and smooth ones."""

    def __init__(self, path: skia.Path) -> None:
        self.path = path
        self.x = self.y = self.start_x = self.start_y = 0.0
        # The last control point, and the letter it belongs to.
        self.control = (0.0, 0.0)
        self.before = ""

    def draw(self, letter: str, numbers: tuple[float, ...]) -> None:
        kind = letter.lower()
        offset = (self.x, self.y) if letter.islower() else (0.0, 0.0)
        _DRAW[kind](self, self._absolute(kind, numbers, offset))
        self.before = kind

    def _absolute(
        self, kind: str, numbers: tuple[float, ...], offset: tuple[float, float]
    ) -> tuple[float, ...]:
        if kind == "h":
            return (numbers[0] + offset[0], self.y)
        if kind == "v":
            return (self.x, numbers[0] + offset[1])
        if kind == "a":
            return (*numbers[:5], numbers[5] + offset[0], numbers[6] + offset[1])
        return tuple(number + offset[at % 2] for at, number in enumerate(numbers))

    def _reach(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def move(self, to: tuple[float, ...]) -> None:
        self.path.moveTo(*to)
        self._reach(*to)
        self.start_x, self.start_y = to

    def line(self, to: tuple[float, ...]) -> None:
        self.path.lineTo(*to)
        self._reach(*to)

    def cubic(self, numbers: tuple[float, ...]) -> None:
        self.path.cubicTo(*numbers)
        self.control = (numbers[2], numbers[3])
        self._reach(*numbers[4:])

    def smooth_cubic(self, numbers: tuple[float, ...]) -> None:
        self.cubic((*self._mirrored("cs"), *numbers))

    def quadratic(self, numbers: tuple[float, ...]) -> None:
        self.path.quadTo(*numbers)
        self.control = (numbers[0], numbers[1])
        self._reach(*numbers[2:])

    def smooth_quadratic(self, numbers: tuple[float, ...]) -> None:
        self.quadratic((*self._mirrored("qt"), *numbers))

    def arc(self, numbers: tuple[float, ...]) -> None:
        radius_x, radius_y, turn, is_large, is_clockwise, x, y = numbers
        size = skia.Path.kLarge_ArcSize if is_large else skia.Path.kSmall_ArcSize
        way = skia.PathDirection.kCW if is_clockwise else skia.PathDirection.kCCW
        self.path.arcTo(abs(radius_x), abs(radius_y), turn, size, way, x, y)
        self._reach(x, y)

    def close(self, _: tuple[float, ...]) -> None:
        self.path.close()
        self._reach(self.start_x, self.start_y)

    def _mirrored(self, kinds: str) -> tuple[float, float]:
        if self.before and self.before in kinds:
            return (2 * self.x - self.control[0], 2 * self.y - self.control[1])
        return (self.x, self.y)


_DRAW = {
    "m": _Pen.move,
    "l": _Pen.line,
    "h": _Pen.line,
    "v": _Pen.line,
    "c": _Pen.cubic,
    "s": _Pen.smooth_cubic,
    "q": _Pen.quadratic,
    "t": _Pen.smooth_quadratic,
    "a": _Pen.arc,
    "z": _Pen.close,
}


@functools.lru_cache(maxsize=2048)
def fill_paint(fill: Fill, blur: float = 0.0, *, is_crisp: bool = False) -> skia.Paint:
    """Return a paint for the fill; it is cached, so do not modify it."""
    paint = skia.Paint(AntiAlias=not is_crisp)
    _set_fill(paint, fill)
    if blur:
        paint.setMaskFilter(skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, blur))
    return paint


@functools.lru_cache(maxsize=2048)
def stroke_paint(stroke: StrokeLine, blur: float = 0.0) -> skia.Paint:
    """Return a paint for the outline; it is cached, so do not modify it."""
    paint = skia.Paint(AntiAlias=True, Style=skia.Paint.kStroke_Style, StrokeWidth=stroke.width)
    _set_fill(paint, stroke.paint)
    paint.setStrokeCap(_CAPS[stroke.cap])
    paint.setStrokeJoin(_JOINS[stroke.join])
    paint.setStrokeMiter(4)
    if stroke.dashes:
        paint.setPathEffect(skia.DashPathEffect.Make(list(stroke.dashes), 0))
    if blur:
        paint.setMaskFilter(skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, blur))
    return paint


def _set_fill(paint: skia.Paint, fill: Fill) -> None:
    if isinstance(fill, Rgba):
        paint.setColor(_colour(fill))
    else:
        paint.setShader(_shader(fill))
        paint.setDither(False)


def _colour(colour: Rgba) -> int:
    alpha = int(colour.alpha * 255 + 0.5)
    return int(skia.ColorSetARGB(alpha, colour.red, colour.green, colour.blue))


def _shader(fill: GradientFill) -> skia.Shader:
    colours = [_colour(colour) for _, colour in fill.stops]
    places = [place for place, _ in fill.stops]
    mode = skia.TileMode.kRepeat if fill.is_repeating else skia.TileMode.kClamp
    if fill.kind == "linear":
        ends = [skia.Point(fill.x, fill.y), skia.Point(fill.x2, fill.y2)]
        return skia.GradientShader.MakeLinear(ends, colours, places, mode)
    if fill.kind == "radial":
        # A circle stretched to the ellipse around the same centre.
        stretch = skia.Matrix.MakeAll(
            1, 0, 0, 0, fill.y2 / fill.x2, fill.y - fill.y * fill.y2 / fill.x2, 0, 0, 1
        )
        centre = skia.Point(fill.x, fill.y)
        return skia.GradientShader.MakeRadial(
            centre, fill.x2, colours, places, mode, localMatrix=stretch
        )
    turn = skia.Matrix.RotateDeg(fill.x2 - 90, skia.Point(fill.x, fill.y))
    return skia.GradientShader.MakeSweep(
        fill.x, fill.y, colours, places, mode, 0, 360 * fill.y2, localMatrix=turn
    )
