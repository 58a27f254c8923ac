"""The short forms of template files expand to elements."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.library.templates.layout import expand
from dovetail_design.model import parse_element

BOX = [1, 2, 50, 60]


@pytest.mark.parametrize(
    ("element", "type"),
    [
        ({"type": "text", "box": BOX, "text": "Hello", "fontSize": 12}, "text"),
        ({"type": "rectangle", "box": BOX, "fill": "#222222", "borderRadius": 4}, "rectangle"),
        ({"type": "circle", "box": BOX, "fill": "#333333"}, "circle"),
        ({"shape": "heart", "box": BOX, "fill": "#555555", "rotation": 45}, "svg"),
        ({"icon": "house", "weight": "fill", "box": BOX, "fill": "#666666"}, "svg"),
        ({"picture": "embedded:clipart/apple", "box": BOX, "group": "fruit"}, "svg"),
    ],
)
def test_each_form_gives_elements_of_the_model(element: dict[str, Any], type: str) -> None:
    for plain in expand(element):
        parsed = parse_element(plain)
        assert (parsed.type, parsed.x, parsed.y, parsed.width, parsed.height) == (type, *BOX)


def test_a_text_with_a_slot_is_dynamic_and_has_its_name() -> None:
    (plain,) = expand({"type": "text", "box": BOX, "text": "Dear {{ name }}"})
    assert (plain["isDynamic"], plain["name"], plain["fontFamily"]) == (True, "name", "Inter")


def test_a_picture_is_one_group() -> None:
    plain = expand({"picture": "embedded:clipart/apple", "box": BOX, "group": "fruit"})
    assert len(plain) > 1
    assert {element["groupId"] for element in plain} == {"fruit"}


@pytest.mark.parametrize("kind", ["shape", "icon", "picture"])
def test_a_name_that_is_not_in_the_library_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=f"no {kind} 'nothing'"):
        expand({kind: "nothing", "box": BOX})
