"""The styles, with the values of the table in the OpenAPI specification (section 4.8.12.4)."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.errors import ToolError
from dovetail_openapi.request_parts import (
    cookie_pairs,
    header_value,
    path_segment,
    query_pairs,
    to_text,
)

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}


@pytest.mark.parametrize(
    ("style", "explode", "text", "array", "object"),
    [
        ("matrix", False, ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", True, ";color=blue", ";color=blue;color=black;color=brown",
         ";R=100;G=200;B=150"),
        ("label", False, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ],
)  # fmt: skip
def test_path(style: str, explode: bool, text: str, array: str, object: str) -> None:
    written = [path_segment("color", each, style, explode) for each in ("blue", ARRAY, OBJECT)]
    assert written == [text, array, object]


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("form", True, "blue", "color=blue"),
        ("form", True, "", "color="),
        ("form", False, ARRAY, "color=blue,black,brown"),
        ("form", True, ARRAY, "color=blue&color=black&color=brown"),
        ("form", False, OBJECT, "color=R,100,G,200,B,150"),
        ("form", True, OBJECT, "R=100&G=200&B=150"),
        ("form", False, [], ""),
        ("spaceDelimited", False, ARRAY, "color=blue%20black%20brown"),
        ("spaceDelimited", False, OBJECT, "color=R%20100%20G%20200%20B%20150"),
        ("pipeDelimited", False, ARRAY, "color=blue%7Cblack%7Cbrown"),
        ("pipeDelimited", True, ARRAY, "color=blue&color=black&color=brown"),
        ("deepObject", True, OBJECT, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
        ("deepObject", True, {"a": {"b": [1, True]}},
         "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=true"),
    ],
)  # fmt: skip
def test_query(style: str, explode: bool, value: Any, expected: str) -> None:
    pairs = query_pairs("color", value, style, explode)
    assert "&".join(f"{name}={text}" for name, text in pairs) == expected


def test_header_and_cookie() -> None:
    assert header_value(ARRAY, False) == "blue,black,brown"
    assert header_value(OBJECT, True) == "R=100,G=200,B=150"
    assert cookie_pairs("color", ARRAY, False) == [("color", "blue,black,brown")]


def test_values_cannot_break_out() -> None:
    assert path_segment("a", "x/../?#&%2e", "simple", False) == "x%2F..%2F%3F%23%26%252e"
    assert path_segment("a", ["b,c", "d"], "simple", False) == "b%2Cc,d"
    assert query_pairs("a b", "x&y=z#", "form", True) == [("a%20b", "x%26y%3Dz%23")]
    reserved = query_pairs("a", "x/?:&=#+", "form", True, allow_reserved=True)
    assert reserved == [("a", "x/?:%26%3D%23%2B")]
    assert cookie_pairs("a", "b; c=d", True) == [("a", "b%3B%20c%3Dd")]


@pytest.mark.parametrize(
    ("style", "value"), [("spaceDelimited", ["a b"]), ("pipeDelimited", {"k": "a|b"})]
)
def test_an_item_that_contains_the_delimiter_is_refused(style: str, value: Any) -> None:
    with pytest.raises(ToolError, match="a: an item cannot contain"):
        query_pairs("a", value, style, False)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (None, ""), (1.5, "1.5"), ("a", "a"), ([1], "[1]")]
)
def test_scalars(value: Any, text: str) -> None:
    assert to_text(value) == text
