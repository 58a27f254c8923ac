from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.model import Bezier, Container, Line, Point, Polygon
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, PathMark
from dovetail_design.rendering.outlines import PathShape
from dovetail_design.rendering.shape_marks import (
    bezier_marks,
    bezier_outline,
    container_marks,
    line_marks,
    line_points,
    polygon_marks,
)

BOX: dict[str, Any] = {"x": 10, "y": 20, "width": 100, "height": 50}
CONTEXT = DrawingContext()


def points(*pairs: tuple[float, float]) -> tuple[Point, ...]:
    return tuple(Point(x, y) for x, y in pairs)


def test_a_line_runs_along_its_longer_side() -> None:
    assert line_points(Line(**BOX)) == [(10, 45), (110, 45)]
    assert line_points(Line(x=0, y=0, width=4, height=50)) == [(2, 0), (2, 50)]
    bent = Line(**BOX, linePoints=points((0, 0), (5, 6)))
    assert line_points(bent) == [(10, 20), (15, 26)]


def test_a_line_has_its_endings() -> None:
    marks = line_marks(Line(**BOX, lineStart="dot", lineEnd="arrow"), CONTEXT)
    assert len(marks) == 3
    assert line_marks(Line(**BOX, strokeWidth=0), CONTEXT) == ()


@pytest.mark.parametrize(
    ("count", "closed", "letters"),
    [(2, False, "ML"), (3, False, "MQ"), (4, True, "MCZ"), (7, False, "MCC"), (5, False, "MCCCC")],
)
def test_the_number_of_points_makes_the_curve(count: int, closed: bool, letters: str) -> None:
    spread = points(*((at * 10.0, float(at % 2)) for at in range(count)))
    outline = bezier_outline(Bezier(**BOX, bezierPoints=spread, bezierClosed=closed))
    assert "".join(command.letter for command in outline.commands) == letters


@pytest.mark.parametrize(
    ("style", "has_fill", "has_stroke"),
    [({}, False, True), ({"fill": "red"}, True, False), ({"stroke": "red"}, False, True),
     ({"fill": "red", "strokeWidth": 2}, True, True)],
)  # fmt: skip
def test_a_curve_without_colours_is_a_line(
    style: dict[str, Any], has_fill: bool, has_stroke: bool
) -> None:
    element = Bezier(**BOX, bezierPoints=points((0, 0), (9, 9), (20, 0)), **style)
    (mark,) = bezier_marks(element, CONTEXT)
    assert isinstance(mark, PathMark)
    assert (mark.fill is not None, mark.stroke is not None) == (has_fill, has_stroke)


def test_a_polygon_takes_its_path_first() -> None:
    for style, count in (
        ({}, 7),
        ({"polygonPoints": points((0, 0), (1, 0), (1, 1))}, 4),
        ({"polygonPoints": points((0, 0), (1, 0), (1, 1)), "svgPath": "M0 0h1"}, 2),
    ):
        (mark,) = polygon_marks(Polygon(**BOX, **style), CONTEXT)
        assert isinstance(mark, PathMark) and isinstance(mark.outline, PathShape)
        assert len(mark.outline.commands) == count


def test_a_panel_may_blur_what_is_behind() -> None:
    behind, _ = container_marks(Container(**BOX, backdropBlur=8), CONTEXT)
    assert isinstance(behind, GroupMark)
    assert behind.backdrop_blur == 4
