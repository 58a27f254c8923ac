from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.model import Image, Svg
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import DrawingMark, GroupMark, ImageMark, PathMark
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.picture_marks import fit_picture, image_marks, svg_marks
from tests.deep.design.render_cases import DRAWING, PHOTO

BOX = Box(10, 10, 100, 100)
PLACE: dict[str, Any] = {"x": 10, "y": 10, "width": 100, "height": 100}
CONTEXT = DrawingContext()


@pytest.mark.parametrize(
    ("fit", "position", "target"),
    [
        ("fill", "center", (10, 10, 100, 100)),
        ("contain", "center", (10, 35, 100, 50)),
        ("contain", "top", (10, 10, 100, 50)),
        ("cover", "center", (-40, 10, 200, 100)),
        ("cover", "right", (-90, 10, 200, 100)),
        ("none", "left top", (10, 10, 40, 20)),
        ("none", "5px 100%", (15, 90, 40, 20)),
        ("scale-down", "center", (40, 50, 40, 20)),
    ],
)
def test_a_picture_of_40_by_20_lies_as_css_says(
    fit: str, position: str, target: tuple[float, ...]
) -> None:
    assert fit_picture(40, 20, BOX, fit, position) == target


def test_a_large_picture_is_scaled_down() -> None:
    assert fit_picture(400, 200, BOX, "scale-down", "center") == (10, 35, 100, 50)


def test_a_picture_is_cut_at_its_corners_and_framed() -> None:
    element = Image(**PLACE, src=PHOTO, fill="red", stroke="blue")
    behind, picture, border = image_marks(element, CONTEXT)
    assert isinstance(behind, PathMark) and isinstance(border, PathMark)
    assert isinstance(picture, GroupMark) and picture.clip == BOX
    assert isinstance(picture.marks[0], ImageMark)


def test_a_lost_picture_is_a_crossed_box() -> None:
    (group,) = image_marks(Image(**PLACE, src="nowhere"), CONTEXT)
    assert isinstance(group, GroupMark)
    assert [type(mark) for mark in group.marks] == [PathMark] * 3


def test_an_svg_is_a_path_or_a_file() -> None:
    (path,) = svg_marks(Svg(**PLACE, svgPath="M0 0h9v9z"), CONTEXT)
    assert isinstance(path, PathMark) and path.fill == (0, 0, 0, 1)
    (group,) = svg_marks(Svg(**PLACE, src=DRAWING), CONTEXT)
    assert isinstance(group, GroupMark) and isinstance(group.marks[0], DrawingMark)
