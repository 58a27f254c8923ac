"""Paths end at the edge of their box."""

from __future__ import annotations

import pytest

from dovetail_design.library.clipping import clip_path
from dovetail_design.library.outlines import circle, pie, polygon, rectangle, smooth
from dovetail_design.library.pictures import Picture, list_pictures
from dovetail_design.model.svg_paths import parse_svg_path


def area(path: str) -> float:
    """By the shoelace formula, for paths of straight lines."""
    points = [numbers for letter, numbers in parse_svg_path(path) if letter in "ML"]
    pairs = zip(points, [*points[1:], points[0]], strict=True)
    return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)) / 2


def test_what_lies_inside_is_left_as_it_is() -> None:
    path = circle((50, 50), 20)
    assert parse_svg_path(clip_path(path, 100, 100)) == parse_svg_path(path)


def test_what_lies_outside_is_gone() -> None:
    assert clip_path(rectangle(200, 0, 300, 50), 100, 100) == ""


def test_a_box_across_the_edge_is_cut_there() -> None:
    assert area(clip_path(rectangle(-50, -50, 50, 50), 100, 100)) == 2_500


@pytest.mark.parametrize(
    ("path", "share"),
    [
        (circle((0, 50), 20), 1 / 2),
        (circle((100, 100), 20), 1 / 4),
        (circle((0, 50), 20, hole=True), 1 / 2),
    ],
)
def test_of_a_disc_on_an_edge_remains_its_share(path: str, share: float) -> None:
    whole = 3.14159 * 400
    assert area(clip_path(path, 100, 100)) == pytest.approx(whole * share, rel=0.01)


def test_large_and_small_arcs_keep_their_side() -> None:
    three_quarters = clip_path(pie((0, 0), 40, 0, 270), 100, 100)
    assert area(three_quarters) == pytest.approx(3.14159 * 1600 / 4, rel=0.01)


def test_curves_are_followed() -> None:
    drop = smooth([(-20.0, 50.0), (20.0, 30.0), (60.0, 50.0), (20.0, 70.0)])
    points = [numbers for letter, numbers in parse_svg_path(clip_path(drop, 100, 100)) if numbers]
    assert min(point[0] for point in points) == 0
    assert max(point[0] for point in points) >= 60


def test_a_hole_that_is_cut_still_runs_the_other_way() -> None:
    hole = clip_path(polygon([(-10, 0), (10, 0), (10, 10), (-10, 10)], hole=True), 50, 50)
    (ax, ay), (bx, by), (cx, cy) = (numbers for _, numbers in parse_svg_path(hole)[:3])
    assert (bx - ax) * (cy - ay) - (by - ay) * (cx - ax) < 0


def test_a_letter_that_the_library_never_writes_is_refused() -> None:
    with pytest.raises(ValueError, match="'h'"):
        clip_path("M0 0 h500 Z", 100, 100)


@pytest.mark.parametrize("picture", list_pictures(), ids=lambda picture: picture.uri)
def test_no_picture_runs_over_its_edges(picture: Picture) -> None:
    for _, path in picture.layers:
        for letter, numbers in parse_svg_path(path):
            # Of arcs the end; what they bow out is part of a piece that lies inside.
            for x, y in zip(numbers[-2::2], numbers[-1::2], strict=True):
                assert letter == "Z" or -0.1 <= x <= picture.width + 0.1, picture.uri
                assert letter == "Z" or -0.1 <= y <= picture.height + 0.1, picture.uri
