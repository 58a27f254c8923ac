from __future__ import annotations

import io
from collections.abc import Sequence

import PIL.Image

from dovetail_design.fonts import bundled_book
from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.backdrops import blurred_backdrop
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import Mark, PathMark
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.skia_painter import SkiaPainter
from dovetail_design.rendering.typesetting import typesetter_for

HALVES = (
    PathMark(Box(0, 0, 50, 100), Rgba(0, 0, 0)),
    PathMark(Box(50, 0, 50, 100), Rgba(255, 255, 255)),
)


def paint(canvas: skia.Canvas, marks: Sequence[Mark]) -> None:
    SkiaPainter(canvas, typesetter_for(bundled_book())).paint(marks)


def test_an_edge_behind_the_panel_is_soft() -> None:
    data = blurred_backdrop(HALVES, Box(25, 25, 50, 50), 5, paint)
    image = PIL.Image.open(io.BytesIO(data)).convert("L")
    assert image.size == (100, 100)
    row = [image.getpixel((x, 50)) for x in (0, 50, 99)]
    assert row[0] == 0 and row[2] == 255
    assert 100 < row[1] < 156  # type: ignore[operator]


def test_a_large_panel_is_not_drawn_at_twice_its_size() -> None:
    data = blurred_backdrop(HALVES, Box(0, 0, 6_000, 10), 1, paint)
    assert PIL.Image.open(io.BytesIO(data)).size == (3_000, 5)
