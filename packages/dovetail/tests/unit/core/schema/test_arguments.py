from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from dovetail.core.schema import ArgumentsSchema, arguments_schema
from dovetail.errors import InvalidValueError, UsageError


@dataclass
class Point:
    """Where."""

    x: int
    y: int = 0


def refusal(schema: ArgumentsSchema, raw: bytes | None) -> str:
    with pytest.raises(InvalidValueError) as caught:
        schema.decode(raw)
    return str(caught.value)


def forecast(city: Annotated[str, "The city"], days: int = 3, *, unit: Literal["C", "F"]) -> None:
    """The weather.

    Args:
        city: Not this one.
        days: How many days.
        unit: Which unit.
    """


def test_a_signature_becomes_a_closed_object() -> None:
    schema = arguments_schema(forecast)
    assert schema.json_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city"},
            "days": {"type": "integer", "description": "How many days.", "default": 3},
            "unit": {"type": "string", "enum": ["C", "F"], "description": "Which unit."},
        },
        "required": ["city", "unit"],
        "additionalProperties": False,
    }
    assert schema.names == ("city", "days", "unit")
    assert schema.required == {"city", "unit"}
    assert schema.positional_only == ()


def test_arguments_are_decoded_and_defaults_filled() -> None:
    schema = arguments_schema(forecast)
    assert schema.decode(b'{"city": "Rome", "unit": "C"}') == {
        "city": "Rome",
        "days": 3,
        "unit": "C",
    }


def test_no_arguments_are_an_empty_object() -> None:
    def ping() -> None: ...

    schema = arguments_schema(ping)
    assert schema.decode(None) == schema.decode(b"{}") == {}
    assert schema.json_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert refusal(arguments_schema(forecast), None) == (
        "city: expected a value (required), got nothing; "
        "unit: expected a value (required), got nothing"
    )


def test_every_problem_is_told() -> None:
    text = refusal(arguments_schema(forecast), b'{"city": 1, "dyas": 2, "unit": "K"}')
    assert sorted(text.split("; ", 3)) == sorted(
        [
            "city: expected string, got 1 (integer)",
            'unit: expected one of "C", "F", got "K" (string)',
            "dyas: expected no such argument, got 2 (integer)",
            "allowed arguments: days, city, unit",
        ]
    )


def test_what_is_no_object_is_refused() -> None:
    assert refusal(arguments_schema(forecast), b"[1]") == "$: expected object, got [1] (array)"
    assert "valid JSON" in refusal(arguments_schema(forecast), b"{")


def test_names_that_a_struct_cannot_hold_work() -> None:
    def tool(__x: int, _y: int = 2, self: int = 3, p0: int = 4) -> None: ...

    (mangled, *_) = names = arguments_schema(tool).names
    assert names == (mangled, "_y", "self", "p0")
    raw = msgspec.json.encode({mangled: 1, "p0": 5})
    assert arguments_schema(tool).decode(raw) == {mangled: 1, "_y": 2, "self": 3, "p0": 5}


def test_a_mutable_default_is_copied_for_each_call() -> None:
    shared: list[int] = [1]
    origin = Point(1)

    def tool(a: list[int] = shared, p: Point = origin, n: int = None) -> None: ...  # type: ignore[assignment]  # noqa: RUF013

    schema = arguments_schema(tool)
    found = schema.decode(None)
    assert found["a"] == shared and found["a"] is not shared
    assert found["p"] == origin and found["p"] is not origin
    assert found["n"] is None
    assert schema.json_schema["properties"]["a"]["default"] == [1]
    assert schema.json_schema["properties"]["p"]["default"] == {"x": 1, "y": 0}
    assert "default" not in schema.json_schema["properties"]["n"]


def test_a_field_in_the_place_of_a_default_is_filled() -> None:
    def tool(
        n: int = pydantic.Field(3, gt=0),
        tags: list[str] = pydantic.Field(default_factory=list),  # noqa: B008
    ) -> None: ...

    schema = arguments_schema(tool)
    first, second = schema.decode(None), schema.decode(None)
    assert first == {"n": 3, "tags": []}
    assert first["tags"] is not second["tags"]
    assert "more than 0" in refusal(schema, b'{"n": 0}')


def test_a_field_in_an_annotation_may_define_the_default() -> None:
    made = []

    def make() -> int:
        made.append(1)
        return len(made)

    def tool(
        q: Annotated[str, "Query", pydantic.Field(default="q", description="What")],
        tags: Annotated[list[str], pydantic.Field(default_factory=list)],
        number: Annotated[int, pydantic.Field(default_factory=make)],
        both: Annotated[int, pydantic.Field(default=1)] = 2,
        limit: Annotated[int, pydantic.Field(gt=0)] = pydantic.Field(3, le=5),
    ) -> None: ...

    schema = arguments_schema(tool)
    properties = schema.json_schema["properties"]
    assert "required" not in schema.json_schema and not schema.required
    defaults = {name: properties[name].get("default", "unknown") for name in properties}
    assert defaults == {"q": "q", "tags": [], "number": "unknown", "both": 2, "limit": 3}
    assert not made
    first, second = schema.decode(None), schema.decode(b'{"q": "a", "limit": 4}')
    assert first == {"q": "q", "tags": [], "number": 1, "both": 2, "limit": 3}
    assert second == {"q": "a", "tags": [], "number": 2, "both": 2, "limit": 4}
    assert first["tags"] is not second["tags"]
    assert "more than 0" in refusal(schema, b'{"limit": 0}')


def test_a_factory_that_takes_other_values_is_refused() -> None:
    def tool(a: int = pydantic.Field(default_factory=lambda data: len(data))) -> None: ...

    with pytest.raises(UsageError, match="parameter 'a': the default_factory of a parameter takes"):
        arguments_schema(tool)


def test_injected_parameters_are_not_described() -> None:
    def tool(context: Callable[[], int], a: int) -> None: ...

    assert arguments_schema(tool, skip={"context"}).names == ("a",)


def test_positional_only_parameters_are_named_so_that_they_can_be_passed() -> None:
    def tool(a: int, b: int, /, c: int) -> int:
        return a * 100 + b * 10 + c

    schema = arguments_schema(tool)
    kwargs = schema.decode(b'{"a": 1, "b": 2, "c": 3}')
    positional = [kwargs.pop(name) for name in schema.positional_only]
    assert tool(*positional, **kwargs) == 123


def test_references_may_be_inlined() -> None:
    def tool(a: Point, b: list[Point]) -> None:
        """Do.

        Args:
            a: The first.
        """

    assert arguments_schema(tool).json_schema["properties"]["a"] == {
        "$ref": "#/$defs/Point",
        "description": "The first.",
    }
    schema = arguments_schema(tool, inline_refs=True).json_schema
    assert "$defs" not in schema
    assert schema["properties"]["a"]["description"] == "The first."
    assert schema["properties"]["b"]["items"]["description"] == "Where."


def test_a_type_that_cannot_be_described_is_named_with_its_place() -> None:
    def tool(a: int, handle: complex) -> None: ...

    with pytest.raises(UsageError) as caught:
        arguments_schema(tool)
    text = str(caught.value)
    assert text.startswith("tool: parameter 'handle' has no JSON Schema: complex: ")
    assert text.endswith("or write the schema by hand (input_schema=, output_schema=)")


def test_a_pattern_is_compiled_at_registration() -> None:
    def tool(a: Annotated[str, msgspec.Meta(pattern=r"a\Z")]) -> None: ...

    with pytest.raises(UsageError, match=r"is invalid: properties\.a\.pattern"):
        arguments_schema(tool)


# JSON in strings


def mixed(
    numbers: list[int],
    point: Point | None = None,
    count: int = 0,
    ok: bool = False,
    text: str | int = "",
) -> None: ...


def test_json_strings_are_refused_with_a_hint() -> None:
    assert refusal(arguments_schema(mixed), b'{"numbers": "[1, 2]"}') == (
        'numbers: expected array, got "[1, 2]" (string); pass the JSON value itself, not a string '
        "containing JSON (the server accepts it with Options(accept_json_strings=True))"
    )
    # The option does not look inside of values, so it is not named there.
    assert refusal(arguments_schema(mixed), b'{"numbers": ["1"]}') == (
        'numbers[0]: expected integer, got "1" (string); pass the JSON value itself, not a string '
        "containing JSON"
    )


def test_json_strings_are_taken_when_that_is_asked_for() -> None:
    schema = arguments_schema(mixed, accept_json_strings=True)
    raw = (
        rb'{"numbers": "[1, 2]", "point": "{\"x\": 1}", "count": "3.0", "ok": "true", "text": "5"}'
    )
    assert schema.decode(raw) == {
        "numbers": [1, 2],
        "point": Point(1),
        "count": 3,
        "ok": True,
        "text": "5",
    }


@pytest.mark.parametrize("given", ["[1, 2", '["a"]', '"[1]"', "5"])
def test_a_string_whose_json_does_not_fit_is_refused_as_it_stands(given: str) -> None:
    schema = arguments_schema(mixed, accept_json_strings=True)
    text = refusal(schema, msgspec.json.encode({"numbers": given, "unknown": "1"}))
    assert "numbers: expected array" in text
    assert "unknown: expected no such argument" in text


def test_only_arguments_are_unwrapped() -> None:
    schema = arguments_schema(mixed, accept_json_strings=True)
    assert "$: expected object" in refusal(schema, b'"{}"')
    assert "numbers[0]: expected integer" in refusal(schema, b'{"numbers": ["1"]}')


# Schemas written by hand

BY_HAND: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"a": {"type": "integer", "title": "A"}, "b": {"type": "string"}},
    "required": ["a"],
}


def test_a_schema_by_hand_is_advertised_as_it_stands() -> None:
    def tool(**kwargs: Any) -> None: ...

    mine = {**BY_HAND}
    schema = arguments_schema(tool, json_schema=mine)
    mine["type"] = "array"
    assert schema.json_schema == BY_HAND
    assert schema.names == ("a", "b")
    assert schema.required == {"a"}
    assert schema.decode(b'{"a": 3.0, "other": [1]}') == {"a": 3.0, "other": [1]}
    assert refusal(schema, b'{"a": "x", "b": 1}').count("expected") == 2
    assert refusal(schema, None) == "a: expected a value (required), got nothing"


def test_a_function_with_parameters_of_its_own_gets_only_what_it_takes() -> None:
    def tool(a: int, b: str, c: int = 0) -> None: ...

    schema = arguments_schema(tool, json_schema=BY_HAND)
    assert schema.names == ("a", "b", "c")
    assert schema.required == {"a", "b"}
    assert schema.decode(b'{"a": 1, "b": "x"}') == {"a": 1, "b": "x"}
    assert refusal(schema, b'{"a": 1, "d": 2}') == (
        "b: expected a value (required), got nothing; "
        "d: expected no such argument, got 2 (integer); allowed arguments: a, b, c"
    )


def test_a_field_default_is_filled_beside_a_schema_by_hand() -> None:
    def tool(a: int, b: str = pydantic.Field("x")) -> None: ...

    schema = arguments_schema(tool, json_schema=BY_HAND)
    assert schema.decode(b'{"a": 1}') == {"a": 1, "b": "x"}
    assert schema.decode(b'{"a": 1, "b": "y"}') == {"a": 1, "b": "y"}


def test_json_strings_are_taken_beside_a_schema_by_hand() -> None:
    def tool(a: int, b: str = "") -> None: ...

    schema = arguments_schema(tool, json_schema=BY_HAND, accept_json_strings=True)
    assert schema.decode(b'{"a": "1", "b": "2"}') == {"a": 1, "b": "2"}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "array"}, 'must be an object with "type": "object" at its root'),
        ({}, 'must be an object with "type": "object" at its root'),
        (
            {"type": "object", "properties": {"z": {}}},
            "describes z, which the function does not take",
        ),
        ({"type": "object", "required": "a"}, "is invalid: required"),
        (
            {"type": "object", "properties": {"a": {"$ref": "https://x.example/"}}},
            "https://x.example/",
        ),
    ],
)
def test_a_schema_by_hand_that_cannot_work_is_a_usage_error(
    schema: dict[str, Any], text: str
) -> None:
    def tool(a: int) -> None: ...

    with pytest.raises(UsageError) as caught:
        arguments_schema(tool, json_schema=schema)
    assert str(caught.value).startswith("tool: ")
    assert text in str(caught.value)
