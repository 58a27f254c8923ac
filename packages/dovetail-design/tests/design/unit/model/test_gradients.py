from __future__ import annotations

import pytest

from dovetail_design.model.colours import Rgba
from dovetail_design.model.gradients import (
    Gradient,
    is_gradient,
    parse_gradient,
    parse_paint,
    split_top,
)
from dovetail_design.model.positions import CENTRE, Length, Position

RED, BLUE = Rgba(255, 0, 0), Rgba(0, 0, 255)


def share(value: float) -> Length:
    return Length(value, is_share=True)


def test_a_linear_gradient_is_read() -> None:
    gradient = parse_gradient("linear-gradient(45deg, red, rgba(0, 0, 255, 1) 80%)")
    assert (gradient.kind, gradient.angle, gradient.repeating) == ("linear", 45, False)
    assert gradient.stops == ((RED, None), (BLUE, share(80)))


@pytest.mark.parametrize(
    ("words", "angle"),
    [("to top", 0), ("to right", 90), ("0.25turn", 90), ("100grad", 90), ("0", 0)],
)
def test_directions_are_angles(words: str, angle: float) -> None:
    assert parse_gradient(f"linear-gradient({words}, red, blue)").angle == pytest.approx(angle)


def test_without_a_direction_it_runs_down() -> None:
    assert parse_gradient("linear-gradient(red, blue)").angle == 180


def test_a_corner_waits_for_the_box() -> None:
    assert parse_gradient("linear-gradient(to left top, red, blue)").corner == (-1, -1)


def test_a_stop_with_two_places_is_two_stops() -> None:
    gradient = parse_gradient("repeating-linear-gradient(red 0 10px, blue 10px 20px)")
    assert gradient.repeating
    assert [stop.at for stop in gradient.stops] == [
        Length(value, is_share=False) for value in (0, 10, 10, 20)
    ]


@pytest.mark.parametrize(
    ("words", "is_circle", "extent", "centre"),
    [
        ("", False, "farthest-corner", CENTRE),
        ("circle, ", True, "farthest-corner", CENTRE),
        ("closest-side at 10% 20px, ", False, "closest-side",
         Position(share(10), Length(20, is_share=False))),
        ("circle 30px at top left, ", True, (Length(30, is_share=False),),
         Position(share(0), share(0))),
    ],
)  # fmt: skip
def test_a_radial_gradient_is_read(
    words: str, is_circle: bool, extent: object, centre: Position
) -> None:
    gradient = parse_gradient(f"radial-gradient({words}red, blue)")
    assert gradient.kind == "radial"
    assert (gradient.is_circle, gradient.extent, gradient.centre) == (is_circle, extent, centre)


def test_a_conic_gradient_is_read() -> None:
    gradient = parse_gradient("conic-gradient(from 90deg at 25% 75%, red, blue 180deg)")
    assert (gradient.kind, gradient.angle) == ("conic", 90)
    assert gradient.centre == Position(share(25), share(75))
    assert gradient.stops[1].at == share(50)


@pytest.mark.parametrize(
    "text",
    [
        "linear-gradient(red)",
        "linear-gradient(red, blue",
        "linear-gradient(to nowhere, red, blue)",
        "linear-gradient(red, blurple)",
        "linear-gradient(red 1em, blue)",
        "linear-gradient(red 1px 2px 3px, blue)",
        "conic-gradient(from up, red, blue)",
        "gradient(red, blue)",
        "linear-gradient(" + ",".join(["red"] * 65) + ")",
    ],
)
def test_what_is_no_gradient_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_gradient(text)


def test_a_paint_is_a_colour_or_a_gradient() -> None:
    assert parse_paint("red") == RED
    assert isinstance(parse_paint("linear-gradient(red, blue)"), Gradient)
    assert not is_gradient("red")


def test_commas_in_brackets_part_nothing() -> None:
    assert split_top("a(1, 2), b , c(d(3,4))", ",") == ["a(1, 2)", "b", "c(d(3,4))"]
