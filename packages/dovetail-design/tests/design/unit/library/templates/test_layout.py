"""The words that layouts are written in."""

from __future__ import annotations

import pytest

from dovetail_design.library.templates import kit
from dovetail_design.model import parse_element


def test_every_word_gives_an_element_that_the_model_takes() -> None:
    place = (0.0, 0.0, 50.0, 50.0)
    made = [
        kit.text("Hello", place, 12, "#111111"),
        kit.box(place, "#222222", 4),
        kit.disc(25, 25, 10, "#333333"),
        kit.rule(place, "#444444"),
        kit.shape("heart", place, "#555555", rotation=45),
        kit.icon("house", 1, 2, 30, "#666666", weight="fill"),
        *kit.picture("embedded:clipart/apple", place, "fruit"),
    ]
    assert {parse_element(element).type for element in made} == {
        "text",
        "rectangle",
        "circle",
        "svg",
    }


@pytest.mark.parametrize(
    "call",
    [
        lambda: kit.shape("nothing", (0, 0, 1, 1), "#000"),
        lambda: kit.icon("nothing", 0, 0, 1, "#000"),
        lambda: kit.picture("embedded:clipart/nothing", (0, 0, 1, 1), "g"),
    ],
)
def test_a_name_that_is_not_in_the_library_is_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match="nothing"):
        call()
