"""The shape library: about seventy shapes that the model takes and that fill their box."""

from __future__ import annotations

import pytest

from dovetail_design.library.shapes import (
    CATEGORIES,
    Shape,
    find_shape,
    list_shapes,
    search_shapes,
)
from dovetail_design.model import Svg, parse_element
from dovetail_design.model.svg_paths import parse_svg_path

SHAPES = list_shapes()


def test_there_are_as_many_in_each_category_as_the_seed_had() -> None:
    counts = {category: len(list_shapes(category)) for category in CATEGORIES}
    assert counts == {
        "basic": 10,
        "arrows": 6,
        "stars": 6,
        "callouts": 4,
        "nature": 7,
        "symbols": 7,
        "geometric": 6,
        "extra": 25,
    }
    assert sum(counts.values()) == len(SHAPES) == 71


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_every_shape_is_an_element_and_stays_in_its_box(shape: Shape) -> None:
    element = parse_element(shape.as_element(10, 20, 30, 40))
    assert isinstance(element, Svg)
    for letter, values in parse_svg_path(shape.svg_path):
        # The radii and flags of arcs are no places.
        places = values[5:] if letter.upper() == "A" else values
        assert all(-1 <= value <= 101 for value in places), shape.id


def test_no_two_shapes_are_the_same() -> None:
    assert len({shape.svg_path for shape in SHAPES}) == len(SHAPES)


def test_shapes_are_found_by_words_and_by_id() -> None:
    assert search_shapes("love")[0].id == "heart"
    assert {shape.category for shape in search_shapes("arrows")} == {"arrows"}
    assert search_shapes("star")[0].id == "star-5"
    found = find_shape("gear")
    assert found is not None and found.category == "extra"
    assert find_shape("no-such") is None


def test_an_unknown_category_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"'round'.*basic, arrows"):
        list_shapes("round")
