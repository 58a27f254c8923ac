from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from dovetail.core.schema.json_values import (
    encode_json,
    format_path,
    integral_floats_to_ints,
    read_json,
    real_path,
    show,
)
from dovetail.errors import InvalidValueError


def refusal(call: Any, *args: Any) -> str:
    with pytest.raises(InvalidValueError) as caught:
        call(*args)
    return str(caught.value)


def test_json_is_read() -> None:
    assert read_json(b'{"a": [1, null, "x"]}') == {"a": [1, None, "x"]}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"{", "$: expected valid JSON, got { (Input data was truncated)"),
        (b'"\xff"', "$: expected valid JSON"),
        (b"9" * 5000, "$: expected valid JSON"),
        (b"[1, 1e400]", "[1]: expected a number that fits a double"),
        (rb'{"a": ["x", "\ud800"]}', r"a[1]: expected text without lone surrogates"),
        (rb'{"\udc00": 1}', "$: expected text without lone surrogates"),
        (b"NaN", "$: expected a number that fits a double"),
        (b"'a'", "$: expected valid JSON, got 'a'"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(raw: bytes, text: str) -> None:
    assert text in refusal(read_json, raw)


def test_bytes_that_are_no_text_are_no_json() -> None:
    # The standard library reads the replacement characters; the bytes are refused all the same.
    assert "valid JSON" in refusal(read_json, b'["\xff", 1.5]')


def test_nesting_beyond_the_stack_is_refused() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert "less deeply nested" in refusal(read_json, deep)
    loop: list[Any] = []
    loop.append(loop)
    assert "less deeply nested" in refusal(encode_json, loop)


@dataclass
class Reading:
    value: float | None


class Model(pydantic.BaseModel):
    value: float | None


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_refused_and_not_sent_as_null(number: float) -> None:
    text = refusal(encode_json, {"a": [Reading(None), Reading(number)]})
    assert text.startswith("a[1].value: expected a finite number")


def test_a_model_is_looked_into() -> None:
    encoded = encode_json([Model(value=None)], lambda value: b"[null]")
    assert encoded == b"[null]"
    text = refusal(encode_json, [Model(value=math.nan)], lambda value: b"[null]")
    assert text.startswith("[0].value: expected a finite number")


def test_an_object_that_shows_nothing_is_passed_by() -> None:
    assert encode_json([object()], lambda value: b"[null]") == b"[null]"


def test_null_is_a_value() -> None:
    assert encode_json([None]) == b"[null]"


def test_what_json_cannot_hold_is_refused() -> None:
    assert "$: expected a value that JSON can represent, got object" in refusal(
        encode_json, object()
    )
    assert "lone surrogates" in refusal(encode_json, "\ud800")


def test_whole_floats_become_integers_at_any_depth() -> None:
    found = integral_floats_to_ints({"a": [3.0, 3.5, "3.0"], "b": -0.0})
    assert found == {"a": [3, 3.5, "3.0"], "b": 0}
    assert type(found["a"][0]) is int


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ([], "$"),
        (["city"], "city"),
        (["items", 2, "price"], "items[2].price"),
        ([0, "a b"], '[0]["a b"]'),
    ],
)
def test_paths_read_like_code(path: list[str | int], text: str) -> None:
    assert format_path(path) == text


@pytest.mark.parametrize(
    ("value", "steps", "path"),
    [
        ({"a": [1]}, ["a", 0], ["a", 0]),
        ({"1": [1]}, [1, 0], ["1", 0]),
        ({"01": [1]}, [1, 0], ["01", 0]),
        ({"": [1]}, [0], ["", 0]),
        ({"": {"": [1]}}, [0], ["", "", 0]),
        ({"a": 1}, ["b"], []),
        ([1], [3], []),
        (1, [3], []),
    ],
)
def test_the_steps_of_a_validator_are_found_again(
    value: Any, steps: list[str | int], path: list[str | int]
) -> None:
    assert real_path(value, steps) == path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("abc", '"abc" (string)'),
        (True, "true (boolean)"),
        (3, "3 (integer)"),
        (3.5, "3.5 (number)"),
        ([1], "[1] (array)"),
        ({"a": "é"}, '{"a": "é"} (object)'),
        (decimal.Decimal("1e400"), '"1E+400" (number)'),
    ],
)
def test_values_are_shown_with_their_type(value: Any, text: str) -> None:
    assert show(value) == text


def test_a_long_value_is_shortened() -> None:
    shown = show("x" * 1000)
    assert shown.endswith("... (string)")
    assert len(shown) < 100


def test_a_value_that_is_too_deep_to_be_shown_is_described() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert show(deep) == "a deeply nested value (array)"
