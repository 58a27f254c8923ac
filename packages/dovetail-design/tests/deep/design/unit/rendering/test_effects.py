from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.model import Line, Rectangle, Star
from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.effects import apply_effects, colour_matrix
from dovetail_design.rendering.marks import GroupMark, PathMark
from dovetail_design.rendering.outlines import Box

BOX: dict[str, Any] = {"x": 10, "y": 20, "width": 100, "height": 50}
MARK = PathMark(Box(10, 20, 100, 50), Rgba(1, 2, 3))


def transform(matrix: tuple[float, ...], colour: tuple[float, float, float]) -> list[float]:
    rows = [matrix[at : at + 5] for at in (0, 5, 10)]
    return [sum(a * b for a, b in zip(row, (*colour, 1, 1), strict=True)) for row in rows]


def test_nothing_to_do_leaves_the_mark_alone() -> None:
    assert apply_effects(Rectangle(**BOX), (MARK,)) is MARK
    assert apply_effects(Rectangle(**BOX), ()) is None


def test_turning_is_around_the_middle() -> None:
    group = apply_effects(Rectangle(**BOX, rotation=30), (MARK,))
    assert isinstance(group, GroupMark)
    assert group.turn == (30, 60, 45)
    assert apply_effects(Rectangle(**BOX, rotation=360), (MARK,)) is MARK


def test_shadows_lie_below_and_inner_ones_above() -> None:
    element = Rectangle(**BOX, boxShadow="1px 2px 4px 3px red, inset 0 0 5px blue")
    group = apply_effects(element, (MARK,))
    assert isinstance(group, GroupMark)
    below, middle, above = group.marks
    assert middle is MARK
    assert isinstance(below, GroupMark) and below.clips_inside
    (cast,) = below.marks
    assert isinstance(cast, PathMark)
    assert (cast.outline, cast.blur) == (Box(8, 19, 106, 56), 2)
    assert isinstance(above, GroupMark) and not above.clips_inside


def test_the_shadow_of_a_line_is_a_line() -> None:
    element = Line(**BOX, boxShadow="3px 4px 0 red")
    group = apply_effects(element, (MARK,))
    assert isinstance(group, GroupMark)
    assert isinstance(group.marks[0], GroupMark)
    (copy,) = group.marks[0].marks
    assert isinstance(copy, PathMark)
    assert (copy.outline, copy.fill) == (Box(13, 24, 100, 50), Rgba(255, 0, 0))


def test_a_star_spreads_by_a_stroke() -> None:
    group = apply_effects(Star(**BOX, boxShadow="0 0 0 4px red"), (MARK,))
    assert isinstance(group, GroupMark) and isinstance(group.marks[0], GroupMark)
    (cast,) = group.marks[0].marks
    assert isinstance(cast, PathMark) and cast.stroke is not None
    assert cast.stroke.width == 8


def test_without_change_there_is_no_matrix() -> None:
    assert colour_matrix(100, 100, 100, 0) is None
    assert colour_matrix(100, 100, 100, 360) is None


@pytest.mark.parametrize(
    ("settings", "colour", "result"),
    [
        ((50, 100, 100, 0), (1, 0.5, 0), (0.5, 0.25, 0)),
        ((100, 0, 100, 0), (1, 0.2, 0), (0.5, 0.5, 0.5)),
        ((100, 200, 100, 0), (0.75, 0.5, 0.25), (1, 0.5, 0)),
        ((100, 100, 0, 0), (1, 0, 0), (0.2126, 0.2126, 0.2126)),
        ((100, 100, 100, 180), (0.4, 0.4, 0.4), (0.4, 0.4, 0.4)),
    ],
)
def test_colours_are_changed_as_css_does(
    settings: tuple[float, ...], colour: tuple[float, float, float], result: tuple[float, ...]
) -> None:
    matrix = colour_matrix(*settings)
    assert matrix is not None
    assert transform(matrix, colour) == pytest.approx(result, abs=1e-3)
