from __future__ import annotations

import pytest

from dovetail_design.model.colours import Rgba
from dovetail_design.model.svg_paths import parse_svg_path
from dovetail_design.rendering.marks import StrokeLine
from dovetail_design.rendering.outlines import Box, PathShape
from dovetail_design.rendering.skia_shapes import fill_paint, make_path, stroke_paint


@pytest.mark.parametrize(
    ("absolute", "relative"),
    [
        ("M10 10 L30 20 H40 V50 Z", "m10 10 l20 10 h10 v30 z"),
        ("M0 0 C1 2 3 4 5 6 S9 9 8 7", "m0 0 c1 2 3 4 5 6 s4 3 3 1"),
        ("M0 0 Q5 5 10 0 T20 0", "m0 0 q5 5 10 0 t10 0"),
        ("M0 0 A5 5 0 0 1 10 0", "m0 0 a5 5 0 0 1 10 0"),
        ("M0 0 L5 5 Z M9 9 L10 10", "m0 0 l5 5 z m9 9 l1 1"),
    ],
)
def test_relative_commands_are_the_absolute_ones(absolute: str, relative: str) -> None:
    one, other = (make_path(PathShape(parse_svg_path(text))) for text in (absolute, relative))
    assert one.getPoints(99) == other.getPoints(99)


def test_a_smooth_command_without_a_curve_before_it_starts_straight() -> None:
    smooth = make_path(PathShape(parse_svg_path("M0 0 L5 5 T9 0")))
    plain = make_path(PathShape(parse_svg_path("M0 0 L5 5 Q5 5 9 0")))
    assert smooth.getPoints(99) == plain.getPoints(99)


def test_what_is_equal_is_made_once() -> None:
    assert make_path(Box(0, 0, 1, 1)) is make_path(Box(0, 0, 1, 1))
    assert fill_paint(Rgba(1, 2, 3)) is fill_paint(Rgba(1, 2, 3))


def test_paints_are_as_told() -> None:
    assert fill_paint(Rgba(1, 2, 3, 0.5)).getColor() == 0x80010203
    stroke = stroke_paint(StrokeLine(Rgba(1, 2, 3), 4, "round", (1, 2)))
    assert stroke.getStrokeWidth() == 4
    assert stroke.getPathEffect() is not None
