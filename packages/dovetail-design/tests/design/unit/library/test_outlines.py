"""Path data by formulas: what is drawn is where it should be."""

from __future__ import annotations

import re

from dovetail_design.library import outlines


def numbers(path: str) -> list[float]:
    return [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", path)]


def test_numbers_are_short_and_zero_has_no_sign() -> None:
    assert [outlines.format_number(value) for value in (1.0, 2.5, -0.001, 3.14159)] == [
        "1",
        "2.5",
        "0",
        "3.14",
    ]


def test_a_polygon_is_closed_and_a_hole_runs_the_other_way() -> None:
    corners = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)]
    assert outlines.polygon(corners) == "M0 0 L10 0 L10 10 Z"
    assert outlines.polygon(corners, hole=True) == "M10 10 L10 0 L0 0 Z"


def test_a_hole_in_a_circle_is_swept_against_the_outline() -> None:
    outer, inner = outlines.ring((50, 50), 40, 20).split(" Z ")
    assert " 0 0 1 " in outer
    assert " 0 0 0 " in inner


def test_the_corners_of_a_regular_polygon_lie_on_its_circle_and_the_first_is_up() -> None:
    points = outlines.polygon_points(7, radius=30)
    assert len(points) == 7
    assert [round(((x - 50) ** 2 + (y - 50) ** 2) ** 0.5, 6) for x, y in points] == [30] * 7
    assert (round(points[0][0], 6), round(points[0][1], 6)) == (50, 20)


def test_a_star_has_inner_corners_between_the_outer_ones() -> None:
    radii = [
        round(((x - 50) ** 2 + (y - 50) ** 2) ** 0.5)
        for x, y in outlines.polygon_points(5, radius=40, inner=10)
    ]
    assert radii == [40, 10] * 5


def test_a_smooth_curve_goes_through_all_its_points() -> None:
    points = [(10.0, 10.0), (90.0, 20.0), (60.0, 80.0)]
    path = outlines.smooth(points)
    ends = [tuple(map(float, end)) for end in re.findall(r"([\d.]+) ([\d.]+)(?= C| Z)", path)]
    assert set(points) <= set(ends)


def test_round_corners_never_take_more_than_half_an_edge() -> None:
    path = outlines.rounded([(0, 0), (10, 0), (10, 10), (0, 10)], 100)
    assert all(0 <= number <= 10 for number in numbers(path))
    assert path.startswith("M0 5 Q0 0 5 0")


def test_turning_four_times_by_a_quarter_comes_back() -> None:
    points = [(60.0, 50.0), (50.0, 10.0)]
    turned = points
    for _ in range(4):
        turned = outlines.turn(turned, 90)
    assert [(round(x, 6), round(y, 6)) for x, y in turned] == points


def test_a_pie_with_an_inner_radius_is_a_band() -> None:
    assert outlines.pie((0, 0), 10, 0, 90) == "M0 0 L10 0 A10 10 0 0 1 0 10 Z"
    assert "L0 5 A5 5 0 0 0 5 0 Z" in outlines.pie((0, 0), 10, 0, 90, inner=5)
