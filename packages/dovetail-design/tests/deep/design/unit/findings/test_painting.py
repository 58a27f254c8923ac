"""What an element covers."""

from __future__ import annotations

import pytest

from dovetail_design.findings.painting import (
    alpha_of,
    fill_of,
    has_simple_outline,
    is_inside,
    paint_alpha,
)
from dovetail_design.findings.scene import Item, Scene
from tests.deep.design.unit.findings.scenery import box, design


def only(element: object) -> Item:
    return Scene.of(design(element)).items[0]


def test_a_gradient_covers_as_weakly_as_its_weakest_colour() -> None:
    assert paint_alpha("linear-gradient(90deg, #00000000, #000000)") == 1
    assert alpha_of(only(box(0, 0, 9, 9, "linear-gradient(90deg, #00000000, #000000)"))) == 0
    assert alpha_of(only(box(0, 0, 9, 9, "#000000", opacity=0.5))) == 0.5


def test_a_shape_that_says_nothing_is_drawn_grey_and_one_with_a_line_is_empty() -> None:
    bare = {"type": "circle", "x": 0, "y": 0, "width": 9, "height": 9}
    assert fill_of(only(bare).element) == "#d1d5db"
    assert fill_of(only({**bare, "stroke": "#000"}).element) is None


@pytest.mark.parametrize(
    ("element", "inside", "outside"),
    [
        ({"type": "rectangle"}, (1, 1), (101, 50)),
        ({"type": "circle"}, (50, 50), (3, 3)),
        ({"type": "star", "starPoints": 5}, (50, 50), (5, 90)),
        ({"type": "polygon", "polygonSides": 3}, (50, 60), (5, 10)),
        (
            {
                "type": "polygon",
                "polygonPoints": [{"x": 0, "y": 0}, {"x": 50, "y": 0}, {"x": 0, "y": 50}],
            },
            (5, 5),
            (60, 60),
        ),
        ({"type": "rectangle", "rotation": 45}, (50, -15), (2, 2)),
    ],
)
def test_points_are_inside_the_outline_or_not(
    element: dict[str, object], inside: tuple[float, float], outside: tuple[float, float]
) -> None:
    item = only({"x": 0, "y": 0, "width": 100, "height": 100, **element})
    assert has_simple_outline(item.element)
    assert is_inside(item, inside)
    assert not is_inside(item, outside)


def test_a_free_path_has_to_be_looked_at() -> None:
    path = {"type": "svg", "x": 0, "y": 0, "width": 9, "height": 9, "svgPath": "M0 0 L9 9 Z"}
    assert not has_simple_outline(only(path).element)
