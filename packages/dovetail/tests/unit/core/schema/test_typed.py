from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pydantic
import pytest

from dovetail.core.schema import type_schema
from dovetail.errors import InvalidValueError, UsageError


@dataclass
class Even:
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("must be even")


@dataclass
class Node:
    next: Node | None = None


class Model(pydantic.BaseModel):
    number: int

    @pydantic.field_validator("number")
    @classmethod
    def check(cls, value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value


def refusal(call: Any, value: Any) -> str:
    with pytest.raises(InvalidValueError) as caught:
        call(value)
    return str(caught.value)


def test_good_input_is_decoded() -> None:
    assert type_schema(dict[str, Even]).decode(b'{"a": {"number": 2}}') == {"a": Even(2)}


def test_values_of_python_are_converted_as_json() -> None:
    assert type_schema(datetime.date).convert("2020-01-31") == datetime.date(2020, 1, 31)
    assert type_schema(dict[int, int]).convert({"1": 2.0}) == {1: 2}
    assert "finite" in refusal(type_schema(float | None).convert, float("nan"))


def test_what_the_schema_allows_and_the_decoder_does_not_is_normalised() -> None:
    assert type_schema(list[Even]).decode(b'[{"number": 4.0}]') == [Even(4)]


def test_what_the_decoder_allows_and_the_schema_does_not_is_refused() -> None:
    assert "without duplicates" in refusal(type_schema(set[int]).decode, b"[1, 1]")


def test_a_check_of_a_dataclass_is_told_with_its_text_and_place() -> None:
    text = refusal(type_schema(list[Even]).decode, b'[{"number": 2}, {"number": 3}]')
    assert text.startswith("[1]: expected a value that passes its own check (must be even)")


def test_a_check_of_a_model_is_told_with_its_text_and_place() -> None:
    text = refusal(type_schema(list[Model]).decode, b'[{"number": 2}, {"number": 3}]')
    assert text.startswith("[1].number: expected a value that passes its own check (must be even)")


def test_a_recursive_type_keeps_its_reference_when_references_are_inlined() -> None:
    schema = type_schema(Node, inline_refs=True).json_schema
    assert schema["type"] == "object"
    assert list(schema["$defs"]) == ["Node"]


def test_a_pattern_that_is_none_of_json_schema_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="the JSON Schema is invalid: pattern"):
        type_schema(Annotated[str, msgspec.Meta(pattern=r"a\Z")])


@pytest.mark.parametrize("annotation", [complex, type, object.__init__, "text", list[complex]])
def test_a_type_that_nobody_can_describe_is_a_usage_error(annotation: Any) -> None:
    with pytest.raises(UsageError, match="has no JSON Schema"):
        type_schema(annotation)


def test_an_iterable_is_a_list() -> None:
    schema = type_schema(Iterable[int])
    assert schema.json_schema == {"type": "array", "items": {"type": "integer"}}
    assert schema.decode(b"[1, 2]") == [1, 2]
    assert type_schema(Iterable).decode(b'["a"]') == ["a"]
    assert type_schema(dict[str, Iterable[int] | None]).decode(b'{"a": [1], "b": null}') == {
        "a": [1],
        "b": None,
    }
    models = type_schema(Annotated[Iterable[Model], pydantic.Field(max_length=1)])
    assert models.decode(b'[{"number": 2}]') == [Model(number=2)]
    assert "at most 1 item" in refusal(models.decode, b'[{"number": 2}, {"number": 2}]')
