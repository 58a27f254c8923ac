from __future__ import annotations

import pytest

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.rendering.marks import StrokeLine
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.painting_values import visible_paint
from dovetail_design.rendering.pptx_paint import (
    _paint_markup,
    can_paint,
    colour_markup,
    ending_markup,
    outline_markup,
)

BOX = Box(10, 10, 200, 100)


@pytest.mark.parametrize(
    ("paint", "expected"),
    [
        ("#ff0000", '<a:srgbClr val="ff0000">'),
        ("linear-gradient(90deg, red, blue)", 'ang="0"'),
        ("linear-gradient(red, blue)", 'ang="5400000"'),
        ("linear-gradient(red 25%, blue)", 'pos="25000"'),
        ("radial-gradient(red, blue)", 'path="circle"'),
    ],
)
def test_paints_that_powerpoint_knows(paint: str, expected: str) -> None:
    fill = visible_paint(paint, BOX)
    assert fill is not None and can_paint(fill, BOX)
    assert expected in _paint_markup(fill, BOX, 1.0)


@pytest.mark.parametrize(
    "paint",
    [
        "conic-gradient(red, blue)",
        "repeating-linear-gradient(red, blue 10px)",
        "radial-gradient(circle at 10% 10%, red, blue)",
        "linear-gradient(red, blue 300%)",
    ],
)
def test_paints_that_it_does_not(paint: str) -> None:
    assert not can_paint(visible_paint(paint, BOX), BOX)


def test_colours_are_as_transparent_as_the_element() -> None:
    assert 'val="25000"' in colour_markup(parse_colour("#ff000080"), 0.5).replace("25098", "25000")


def test_outlines_have_dashes_and_ends() -> None:
    red = Rgba(255, 0, 0)
    dashed = outline_markup(
        StrokeLine(red, 2, dashes=(6, 4)), 9525, ends=ending_markup("dot", "arrow")
    )
    assert dashed is not None and 'w="19050"' in dashed and 'prstDash val="dash"' in dashed
    assert '<a:headEnd type="oval"/><a:tailEnd type="triangle"/>' in dashed
    own = outline_markup(StrokeLine(red, 2, dashes=(10, 2)), 9525)
    assert own is not None and '<a:ds d="500000" sp="100000"/>' in own
    assert outline_markup(StrokeLine(red, 2, dashes=(1, 2, 3)), 9525) is None
    gradient = visible_paint("linear-gradient(red, blue)", BOX)
    assert gradient is not None and outline_markup(StrokeLine(gradient, 2), 9525) is None
