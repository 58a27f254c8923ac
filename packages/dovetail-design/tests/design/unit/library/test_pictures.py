"""Clipart, illustrations, patterns and backgrounds: the same every time, and drawable."""

from __future__ import annotations

import subprocess
import sys
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


def test_a_picture_is_the_same_in_another_process() -> None:
    probe = (
        "import hashlib\n"
        "from dovetail_design.library.pictures import list_pictures\n"
        "text = ''.join(picture.as_svg() for picture in list_pictures()"
        " if not picture.name.endswith('texture'))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", probe],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


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
