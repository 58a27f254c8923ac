"""Who is meant."""

from __future__ import annotations

import pytest

from dovetail_design.generating.targets import find_target, name_of
from tests.design.unit.findings.scenery import box, design, text

DESIGN = design(
    box(0, 0, 100, 100, name="price tag"),
    text("Big words", 0, 100, fontSize=60),
    text("Small words", 0, 200, fontSize=20),
    {"type": "circle", "x": 0, "y": 0, "width": 10, "height": 10},
    {"type": "circle", "x": 0, "y": 0, "width": 50, "height": 50},
    box(0, 0, 500, 500, visible=False, name="ghost"),
)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("the title", ["e1"]),
        ("headline", ["e1"]),
        ("the subtitle", ["e2"]),
        ("all text", ["e1", "e2"]),
        ("the price tag", ["e0"]),
        ("the circle", ["e4"]),
        ("all circles", ["e3", "e4"]),
        ("e3", ["e3"]),
        ("everything", ["e0", "e1", "e2", "e3", "e4"]),
    ],
)
def test_words_name_elements(words: str, ids: list[str]) -> None:
    found = find_target(words, DESIGN)
    assert found is not None and found.ids == ids


@pytest.mark.parametrize("words", ["the star", "the ghost", "it", ""])
def test_words_that_name_nothing_here_find_nothing(words: str) -> None:
    assert find_target(words, DESIGN) is None


def test_elements_are_called_by_name_or_words() -> None:
    assert [name_of(element) for element in DESIGN.elements[:4]] == [
        "price tag",
        'text "Big words"',
        'text "Small words"',
        "circle e3",
    ]
