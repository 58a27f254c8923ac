from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pydantic
import pytest

from dovetail.core.schema import type_schema
from dovetail.core.schema.text_formats import base64_text
from dovetail.core.schema.validator import (
    SchemaValidator,
    problems_of_details,
    problems_of_refusal,
    unknown_key,
)
from dovetail.errors import InvalidValueError

INTEGER = {"type": "integer"}
POINT = {"type": "object", "properties": {"x": INTEGER, "name": {}}, "required": ["x"]}


def told(schema: dict[str, Any], value: Any) -> list[str]:
    return [str(each) for each in SchemaValidator(schema, asserts_formats=True).problems(value)]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (INTEGER, "abc", '$: expected integer, got "abc" (string)'),
        ({"type": ["integer", "null"]}, 1.5, "$: expected integer or null, got 1.5 (number)"),
        ({"enum": ["a", "b"]}, "c", '$: expected one of "a", "b", got "c" (string)'),
        ({"enum": list(range(25))}, 30, "19 and 5 more, got 30 (integer)"),
        ({"const": 1}, 2, "expected the constant 1, got 2"),
        ({"minimum": 0}, -1, "$: expected at least 0, got -1 (integer)"),
        ({"maximum": 0}, 1, "expected at most 0"),
        ({"exclusiveMinimum": 0}, 0, "expected more than 0"),
        ({"exclusiveMaximum": 0}, 0, "expected less than 0"),
        ({"multipleOf": 7}, 6, "expected a multiple of 7"),
        ({"minLength": 2}, "", "expected at least 2 characters"),
        ({"maxLength": 1}, "ab", "expected at most 1 character, got"),
        ({"minItems": 1}, [], "expected at least 1 item, got [] (array)"),
        ({"maxItems": 0}, [1], "expected at most 0 items"),
        ({"minProperties": 1}, {}, "expected at least 1 keys"),
        ({"maxProperties": 0}, {"a": 1}, "expected at most 0 keys"),
        ({"uniqueItems": True}, [1, 1], "expected items without duplicates, got [1, 1] (array)"),
        ({"contains": INTEGER}, ["a"], "expected an item of the kind"),
        ({"pattern": "^a$"}, "b", 'expected text matching ^a$, got "b" (string)'),
        ({"format": "date"}, "b", "expected date such as 2025-01-31"),
        ({"format": "ipv4"}, "b", "expected ipv4"),
        ({"prefixItems": [{}], "items": False}, [1, 2], "[1]: expected no value here, got 2"),
        ({"not": INTEGER}, 1, "is not allowed for"),
        (
            {"propertyNames": {"pattern": "^a$"}},
            {"b": 1},
            'expected text matching ^a$, got the key "b"',
        ),
    ],
)
def test_every_keyword_is_told_in_plain_words(
    schema: dict[str, Any], value: Any, text: str
) -> None:
    (problem,) = told(schema, value)
    assert text in problem


def test_all_problems_are_told_and_none_twice() -> None:
    schema = {"allOf": [POINT, POINT], "additionalProperties": INTEGER}
    assert sorted(told(schema, {"y": "a", "z": "b"})) == [
        "x: expected a value (required), got nothing",
        'y: expected integer, got "a" (string)',
        'z: expected integer, got "b" (string)',
    ]


def test_an_unknown_key_is_answered_with_the_nearest_name_first() -> None:
    problem = unknown_key(["dyas"], 3, ["city", "days"], "argument")
    assert str(problem) == (
        "dyas: expected no such argument, got 3 (integer); allowed arguments: days, city"
    )
    assert "allowed arguments: none" in str(unknown_key(["x"], 3, [], "argument"))


def test_an_unknown_key_of_an_inner_object_is_a_key() -> None:
    inner = {**POINT, "additionalProperties": False}
    schema = {"properties": {"p": inner}, "additionalProperties": False}
    found = SchemaValidator(schema, asserts_formats=True).problems(
        {"p": {"x": 1, "y": 2}, "q": 1}, "argument"
    )
    assert [str(each) for each in found] == [
        "p.y: expected no such key, got 2 (integer); allowed keys: x, name",
        "q: expected no such argument, got 1 (integer); allowed arguments: p",
    ]


def test_of_a_union_of_scalars_every_branch_is_named() -> None:
    schema = {"anyOf": [INTEGER, {"type": "null"}]}
    assert told(schema, "a") == ['$: expected integer or null, got "a" (string)']


def test_of_a_union_the_branch_that_was_meant_is_told() -> None:
    nullable = {"anyOf": [POINT, {"type": "null"}]}
    assert told(nullable, {"x": "a"}) == ['x: expected integer, got "a" (string)']
    assert told(nullable, {}) == ["x: expected a value (required), got nothing"]
    bounded = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]}
    assert told(bounded, -1) == ["$: expected at least 0, got -1 (integer)"]


def test_of_a_tagged_union_the_tag_decides() -> None:
    def tagged(tag: str, key: str) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"type": {"const": tag}, key: INTEGER},
            "required": ["type", key],
        }

    schema = {"oneOf": [tagged("cat", "lives"), tagged("dog", "age")]}
    assert told(schema, {"type": "dog", "age": "x"}) == ['age: expected integer, got "x" (string)']
    (problem,) = told(schema, {"type": "cow"})
    assert problem == 'type: expected one of "cat", "dog", got "cow" (string)'


def test_a_value_that_fits_two_alternatives_of_one_is_told_so() -> None:
    (problem,) = told({"oneOf": [INTEGER, {"minimum": 0}]}, 1)
    assert "exactly one of the alternatives" in problem


@pytest.mark.parametrize(
    ("schema", "value", "has_hint"),
    [
        ({"type": "array"}, "[1, 2]", True),
        ({"type": "object"}, '{"a": 1}', True),
        (INTEGER, "5", True),
        ({"type": "number"}, "5.5", True),
        (INTEGER, "5.5", False),
        ({"type": "boolean"}, "true", True),
        ({"type": "null"}, "null", True),
        (INTEGER, '"5"', False),
        (INTEGER, "five", False),
        (INTEGER, [1], False),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "5", True),
    ],
)
def test_json_in_a_string_gets_a_hint(schema: dict[str, Any], value: Any, has_hint: bool) -> None:
    (problem,) = told(schema, value)
    hint = "; pass the JSON value itself, not a string containing JSON"
    assert (hint in problem) == has_hint
    assert problem.count("pass the JSON") == has_hint


@pytest.mark.parametrize(
    ("text", "value", "path"),
    [
        ("must be even", 3, "$"),
        ("must be even - at `$.a[1].b`", {"a": [0, {"b": 3}]}, "a[1].b"),
        ("must be even - at `$.a[...].b`", {"a": {"k": {"b": 3}}}, "a"),
        ("must be even - at `key` in `$.a`", {"a": {"k": 1}}, "a"),
        ("must be even - at `$[2]`", [1], "$"),
    ],
)
def test_a_check_of_the_author_keeps_its_text_and_place(text: str, value: Any, path: str) -> None:
    (problem,) = problems_of_refusal(msgspec.ValidationError(text), value)
    assert problem.path == path
    assert "a value that passes its own check (must be even)" in problem.expected


def test_the_details_of_pydantic_are_told_without_the_names_of_branches() -> None:
    details: list[dict[str, Any]] = [
        {"type": "value_error", "loc": ("Cat", "lives"), "msg": "Value error, too many"},
        {"type": "missing", "loc": ("Cat", "name"), "msg": "Field required"},
    ]
    found = [str(each) for each in problems_of_details(details, {"lives": 9}, ["pet"])]
    assert found == [
        "pet.lives: expected a value that passes its own check (too many), got 9 (integer)",
        "pet.name: expected a value (required), got nothing",
    ]


class Cat(msgspec.Struct, tag="cat", tag_field="kind"):
    lives: int


class Dog(msgspec.Struct, tag="dog", tag_field="kind"):
    name: str


class Car(pydantic.BaseModel):
    kind: Literal["car"]
    seats: int


class Bus(pydantic.BaseModel):
    kind: Literal["bus", "coach"]
    seats: int


class Owner(msgspec.Struct):
    pets: list[Cat | Dog | None]


@dataclass
class Left:
    side: Literal["left"]


@dataclass
class Right:
    side: Literal["right"]


@pytest.mark.parametrize(
    ("annotation", "raw", "text"),
    [
        (Cat | Dog, b'{"kind": "cow"}', 'kind: expected one of "cat", "dog", got "cow" (string)'),
        (Cat | Dog | None, b'{"kind": 1}', 'kind: expected one of "cat", "dog", got 1 (integer)'),
        (
            Owner,
            b'{"pets": [null, {"kind": "cow", "lives": 1}]}',
            'pets[1].kind: expected one of "cat", "dog", got "cow" (string)',
        ),
        (
            Annotated[Car | Bus, pydantic.Field(discriminator="kind")],
            b'{"kind": "cow"}',
            'kind: expected one of "car", "bus", "coach", got "cow" (string)',
        ),
        (
            Left | Right,
            b'{"side": "top"}',
            'side: expected one of "left", "right", got "top" (string)',
        ),
        (Cat | Dog, b'{"kind": "cat"}', "lives: expected a value (required), got nothing"),
        (Cat | Dog | None, b"7", "$: expected object or null, got 7 (integer)"),
    ],
)
def test_a_wrong_tag_is_told_at_the_tag(annotation: Any, raw: bytes, text: str) -> None:
    with pytest.raises(InvalidValueError) as caught:
        type_schema(annotation).decode(raw)
    assert [str(problem) for problem in caught.value.problems] == [text]


def test_two_wrong_tags_are_told_together() -> None:
    schema = {"oneOf": [{"properties": {key: {"const": 1}}} for key in ("a", "b")]}
    [problem] = told(schema, {"a": 2, "b": 3})
    assert problem.startswith("$: expected the constant 1, got")


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ((None, None), "base64 text such as aGVsbG8="),
        ((2, None), "base64 text of at least 2 bytes"),
        ((0, 4), "base64 text of at most 4 bytes"),
        ((5, 5), "base64 text of at least 5 and at most 5 bytes"),
    ],
)
def test_base64_is_told_without_its_pattern(limits: tuple[Any, Any], text: str) -> None:
    [problem] = told(base64_text(*limits), "?")
    assert problem == f'$: expected {text}, got "?" (string)'
