"""Clipart, illustrations, patterns and backgrounds can be drawn and found."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from dovetail_design.library.pictures import (
    KINDS,
    Picture,
    find_picture,
    list_pictures,
    search_pictures,
)
from dovetail_design.model import parse_element
from dovetail_design.model.svg_paths import parse_svg_path

PICTURES = list_pictures()


def test_there_is_enough_of_each_kind() -> None:
    counts = {kind: len(list_pictures(kind)) for kind in KINDS}
    assert counts["clipart"] + counts["illustration"] >= 40
    assert counts["pattern"] >= 20
    assert counts["background"] >= 20


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.uri)
def test_every_picture_becomes_elements_and_an_svg(picture: Picture) -> None:
    plain = picture.as_elements((10, 20, 300, 200), "group-1")
    elements = [parse_element(element) for element in plain]
    assert elements
    assert {element.groupId for element in elements} == {"group-1"}
    root = ElementTree.fromstring(picture.as_svg())
    assert root.attrib["viewBox"] == f"0 0 {picture.width} {picture.height}"
    assert len(root.findall("{http://www.w3.org/2000/svg}path")) == len(elements)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.uri)
def test_no_picture_runs_over_its_edges(picture: Picture) -> None:
    # An svg element draws its whole path, including the parts outside of the view box.
    for _, path in picture.layers:
        for letter, numbers in parse_svg_path(path):
            # Of arcs only the end is a point.
            for x, y in zip(numbers[-2::2], numbers[-1::2], strict=True):
                assert letter == "Z" or -0.1 <= x <= picture.width + 0.1, picture.uri
                assert letter == "Z" or -0.1 <= y <= picture.height + 0.1, picture.uri


def test_pictures_are_found_by_words_kind_and_category() -> None:
    assert search_pictures("mountains at night")[0].name == "mountain-night"
    assert search_pictures("christmas", ("clipart",))[0].name in {"christmas-tree", "gift"}
    found = search_pictures("", ("illustration",), "city")
    assert {picture.category for picture in found} == {"city"}
    assert search_pictures("", ("pattern",)) == list_pictures("pattern")


def test_a_picture_is_found_by_its_uri() -> None:
    found = find_picture("embedded:pattern/waves")
    assert found is not None and found.kind == "pattern"
    assert find_picture("embedded:pattern/none") is None
