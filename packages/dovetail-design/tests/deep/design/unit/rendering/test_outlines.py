from __future__ import annotations

import pytest

from dovetail_design.model.svg_paths import PathCommand
from dovetail_design.rendering.outlines import (
    Box,
    fit_path,
    path_of_points,
    regular_points,
    smooth_commands,
)


def test_a_box_grows_around_its_middle_and_never_below_nothing() -> None:
    assert Box(10, 10, 20, 10).outset(5) == Box(5, 5, 30, 20)
    assert Box(10, 10, 20, 10).outset(-50) == Box(20, 15, 0, 0)


@pytest.mark.parametrize(("count", "inner"), [(3, None), (5, None), (8, None), (5, 0.4), (7, 0.9)])
def test_polygons_and_stars_fill_their_box(count: int, inner: float | None) -> None:
    points = regular_points(Box(10, 20, 100, 50), count, inner)
    xs, ys = zip(*points, strict=True)
    assert (min(xs), max(xs), min(ys), max(ys)) == pytest.approx((10, 110, 20, 70))
    assert len(points) == (count if inner is None else 2 * count)


def test_a_view_box_is_stretched_over_the_box() -> None:
    shape = fit_path((), Box(10, 10, 100, 50), Box(0, 0, 200, 200))
    assert shape[1:5] == (2, 4, -20, -40)


def test_a_smooth_curve_goes_through_every_point() -> None:
    points = [(0.0, 0.0), (10.0, 5.0), (20.0, 0.0), (30.0, 5.0), (40.0, 0.0)]
    commands = smooth_commands(points, closed=False)
    assert [command.numbers[-2:] for command in commands] == points
    assert len(smooth_commands(points, closed=True)) == len(points) + 1


def test_points_become_lines() -> None:
    shape = path_of_points([(0, 0), (1, 1)], closed=True)
    assert shape.commands == (
        PathCommand("M", (0, 0)),
        PathCommand("L", (1, 1)),
        PathCommand("Z", ()),
    )
