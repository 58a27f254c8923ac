from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.model.elements import ELEMENT_TYPES, Rectangle, Star, Text
from dovetail_design.model.reading import (
    merge_element,
    parse_design,
    parse_element,
    to_plain,
)

BOX: dict[str, Any] = {"x": 1, "y": 2, "width": 30, "height": 40}
NEEDED: dict[str, dict[str, Any]] = {
    "text": {"text": "hello"},
    "bezier": {"bezierPoints": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
    "qr": {"qrValue": "a"},
    "barcode": {"barcodeValue": "a"},
}


@pytest.mark.parametrize("kind", ELEMENT_TYPES)
def test_a_plain_element_comes_back_as_it_was(kind: str) -> None:
    plain = {"type": kind, **BOX, **NEEDED.get(kind, {})}
    element = parse_element(plain)
    assert type(element) is ELEMENT_TYPES[kind]
    assert element.type == kind
    assert to_plain(element) == plain


def test_numbers_may_come_as_text() -> None:
    element = parse_element({"type": "star", **BOX, "x": " 12.5 ", "y": "-3px", "starPoints": "7"})
    assert element == Star(**{**BOX, "x": 12.5, "y": -3}, starPoints=7)
    assert parse_element({"type": "star", **BOX, "starPoints": 7.0}) == Star(**BOX, starPoints=7)


def test_text_that_looks_like_a_number_stays_text() -> None:
    assert parse_element({"type": "text", **BOX, "text": "12"}) == Text(**BOX, text="12")


def test_a_weight_may_be_a_number() -> None:
    element = parse_element({"type": "text", **BOX, "text": "a", "fontWeight": 700})
    assert element == Text(**BOX, text="a", fontWeight=700)


def test_null_means_not_set() -> None:
    assert parse_element({"type": "rectangle", **BOX, "fill": None}) == Rectangle(**BOX)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"type": "rectangle", **BOX, "fontSize": 3},
         "`fontSize` belongs to text, table, barcode, not to rectangle"),
        ({"type": "rectangle", **BOX, "fil": "red"},
         r"no property `fil` \(did you mean `fill`\?\). A rectangle has: type, x"),
        ({"type": "rect", **BOX}, r"type 'rect' \(did you mean 'rectangle'\?\); allowed: "),
        (BOX, "has no type; allowed: rectangle"),
        ({"type": 5}, "has the type 5"),
        ({"type": "rectangle", **BOX, "width": 0}, "`width`: expected `float` >= 1.0, got 0"),
        ({"type": "rectangle", **BOX, "x": "left"}, "`x`: expected `float`, got `str`"),
        ({"type": "rectangle", "x": 1, "y": 1, "width": 1}, "missing required field `height`"),
        ({"type": "rectangle", **BOX, "x": float("nan")}, "`x`"),
        ({"type": "circle", **BOX, "borderStyle": "wavy"}, "`borderStyle`: invalid enum value"),
        ({"type": "line", **BOX, "linePoints": [{"x": 1, "z": 2}, {"x": 1, "y": 2}]},
         r"`linePoints\[0\]`: object contains unknown field `z`"),
        ({"type": "text", **BOX, "text": "a", "fill": "linear-gradient(red)"},
         "fill: a gradient has 2 to 64 colours"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        parse_element(values)


def test_updates_are_merged_and_checked() -> None:
    text = Text(**BOX, id="a", text="old", fill="red")
    changed = merge_element(text, {"text": "new", "fill": None, "x": "7"})
    assert changed == Text(**{**BOX, "x": 7}, id="a", text="new")
    with pytest.raises(ToolError, match="`sides`"):
        merge_element(text, {"sides": 3})


def test_the_id_and_the_type_stay() -> None:
    text = Text(**BOX, id="a", text="t")
    assert merge_element(text, {"id": "a", "type": "text"}) == text
    for updates in ({"id": "b"}, {"type": "circle"}):
        with pytest.raises(ToolError, match="cannot be changed"):
            merge_element(text, updates)


def test_a_design_names_the_element_that_is_wrong() -> None:
    good = {"type": "circle", **BOX}
    design = parse_design({"width": "100", "height": 50, "elements": [good, Rectangle(**BOX)]})
    assert (design.width, len(design.elements)) == (100, 2)
    with pytest.raises(ToolError, match=r"elements\[1\]: The element has no type"):
        parse_design({"elements": [good, {}]})
    with pytest.raises(ToolError, match=r"elements\[0\] must be an object"):
        parse_design({"elements": ["circle"]})
    with pytest.raises(ToolError, match="elements must be a list"):
        parse_design({"elements": "circle"})


@pytest.mark.parametrize(
    "values",
    [{"width": 0}, {"height": 10_001}, {"width": 1.5}, {"background": "blurple"}, {"x": 1}],
)
def test_a_canvas_out_of_bounds_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="The canvas: "):
        parse_design(values)
