from __future__ import annotations

import pytest

from dovetail_design.model.gradients import parse_gradient
from dovetail_design.model.svg_paths import parse_svg_path
from dovetail_design.rendering.gradient_lines import place_gradient
from dovetail_design.rendering.outlines import Box, Ellipse, PathShape, Rounded
from dovetail_design.rendering.skia_shapes import make_path
from dovetail_design.rendering.svg_shapes import (
    attributes,
    gradient_markup,
    number,
    path_data,
)


def test_numbers_are_short() -> None:
    assert [number(value) for value in (1.0, 0.50004, -0.00001, 12.34567, 100)] == [
        "1", "0.5", "0", "12.3457", "100",
    ]  # fmt: skip


def test_attributes_are_quoted_and_none_is_left_out() -> None:
    assert attributes(d='a"<', stroke_width=2.0, id=None) == ' d=\'a"&lt;\' stroke-width="2"'


@pytest.mark.parametrize(
    "outline",
    [
        Box(1, 2, 30, 40),
        Rounded(Box(1, 2, 30, 40), (0, 5, 10, 15)),
        Ellipse(Box(1, 2, 30, 40)),
        PathShape(
            parse_svg_path("M1 2h5v6c1 2 3 4 5 6s1 2 3 4q1 2 3 4t2 2a3 2 0 1 1 4 4z"), 2, 2, 5, 6
        ),
        PathShape(parse_svg_path("M1 2H5V6C1 2 3 4 5 6A3 2 90 0 1 9 9L4 4Z"), 2, 3, 5, 6),
    ],
)
def test_data_that_was_written_is_the_same_shape(outline: Box) -> None:
    again = make_path(PathShape(parse_svg_path(path_data(outline))))
    first, second = (path.computeTightBounds() for path in (make_path(outline), again))
    for side in ("left", "top", "right", "bottom"):
        assert getattr(first, side)() == pytest.approx(getattr(second, side)(), abs=0.01)


def test_gradients_are_written_in_pixels() -> None:
    box = Box(0, 0, 100, 50)
    line = place_gradient(parse_gradient("linear-gradient(to right, red, #0000ff80)"), box)
    assert gradient_markup(line, "g") == (
        '<linearGradient id="g" gradientUnits="userSpaceOnUse" x1="0" y1="25" x2="100" y2="25">'
        '<stop offset="0" stop-color="#ff0000"/>'
        '<stop offset="1" stop-color="#0000ff" stop-opacity="0.502"/></linearGradient>'
    )
    round_one = place_gradient(parse_gradient("repeating-radial-gradient(red, blue)"), box)
    assert 'gradientTransform="matrix(1 0 0 0.5 0 12.5)"' in gradient_markup(round_one, "g")
    assert 'spreadMethod="repeat"' in gradient_markup(round_one, "g")
