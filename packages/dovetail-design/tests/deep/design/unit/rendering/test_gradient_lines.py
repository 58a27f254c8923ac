from __future__ import annotations

import pytest

from dovetail_design.model.colours import Rgba
from dovetail_design.model.gradients import parse_gradient
from dovetail_design.rendering.gradient_lines import GradientFill, place_gradient
from dovetail_design.rendering.outlines import Box

BOX = Box(0, 0, 200, 100)


def place(text: str, box: Box = BOX) -> GradientFill:
    return place_gradient(parse_gradient(text), box)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("to right", (0, 50, 200, 50)),
        ("to top", (100, 100, 100, 0)),
        ("45deg", (25, 125, 175, -25)),
        # The middle of the line to a corner lies on the other diagonal.
        ("to bottom right", (60, -30, 140, 130)),
    ],
)
def test_a_line_lies_as_css_says(words: str, line: tuple[float, ...]) -> None:
    assert place(f"linear-gradient({words}, red, blue)")[3:] == pytest.approx(line)


@pytest.mark.parametrize(
    ("words", "radii"),
    [
        ("circle closest-side", (50, 50)),
        ("circle farthest-side", (100, 100)),
        ("circle farthest-corner", (111.8034, 111.8034)),
        ("ellipse", (141.4214, 70.7107)),
        ("closest-side", (100, 50)),
        ("30px 20%", (30, 20)),
    ],
)
def test_an_ellipse_reaches_as_far_as_css_says(words: str, radii: tuple[float, float]) -> None:
    assert place(f"radial-gradient({words}, red, blue)")[5:] == pytest.approx(radii, rel=1e-4)


def test_stops_without_a_place_are_spread_evenly() -> None:
    stops = place("linear-gradient(red, lime, yellow 60%, blue, black)").stops
    assert [at for at, _ in stops] == pytest.approx([0, 0.3, 0.6, 0.8, 1])


def test_stops_never_go_back() -> None:
    stops = place("linear-gradient(to right, red 50%, blue 20%)").stops
    assert [at for at, _ in stops] == [0, 0.5, 0.5, 1]


def test_a_repeating_line_is_one_period_long() -> None:
    fill = place("repeating-linear-gradient(90deg, red 0 10px, blue 10px 20px)")
    assert fill.is_repeating
    assert fill[3:] == pytest.approx((0, 50, 20, 50))
    assert [at for at, _ in fill.stops] == pytest.approx([0, 0.5, 0.5, 1])


def test_what_fades_keeps_its_colour() -> None:
    stops = place("linear-gradient(red, transparent, blue)").stops
    assert [colour for _, colour in stops] == [
        Rgba(255, 0, 0),
        Rgba(255, 0, 0, 0),
        Rgba(0, 0, 255, 0),
        Rgba(0, 0, 255),
    ]


def test_a_turn_begins_where_it_is_told() -> None:
    fill = place("conic-gradient(from 90deg at 25% 50%, red, blue)")
    assert (fill.x, fill.y, fill.x2) == (50, 50, 90)
