"""Boxes: what they share and how they turn."""

from __future__ import annotations

from dovetail_design.findings.boxes import Box, around, turn_point


def test_boxes_that_only_touch_share_nothing() -> None:
    assert Box(0, 0, 10, 10).meet(Box(10, 0, 20, 10)) is None
    assert Box(0, 0, 10, 10).meet(Box(5, 5, 20, 20)) == Box(5, 5, 10, 10)


def test_a_box_holds_another_give_or_take_some_slack() -> None:
    assert Box(0, 0, 10, 10).holds(Box(0, 0, 10, 10))
    assert not Box(0, 0, 10, 10).holds(Box(-1, 0, 5, 5))
    assert Box(0, 0, 10, 10).holds(Box(-1, 0, 5, 5), slack=1)


def test_a_box_never_shrinks_inside_out() -> None:
    assert Box(0, 0, 10, 4).grow(-20, -1) == Box(5, 1, 5, 3)


def test_a_quarter_turn_goes_clockwise() -> None:
    x, y = turn_point((10, 0), (0, 0), 90)
    assert (round(x, 6), round(y, 6)) == (0, 10)


def test_points_are_spread_over_the_inside() -> None:
    points = Box(0, 0, 10, 10).spread(2, 2)
    assert points == [(2.5, 2.5), (7.5, 2.5), (2.5, 7.5), (7.5, 7.5)]
    assert around(points) == Box(2.5, 2.5, 7.5, 7.5)
