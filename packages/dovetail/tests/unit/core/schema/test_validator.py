from __future__ import annotations

from typing import Any

import pytest

from dovetail.core.schema.validator import SchemaValidator, find_problems
from dovetail.errors import InvalidValueError, UsageError


def compile_schema(schema: dict[Any, Any]) -> SchemaValidator:
    validator = SchemaValidator(schema, asserts_formats=False)
    validator.compile("tool")
    return validator


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (
            {"properties": {"a": {"minimum": "x"}}},
            "tool: the JSON Schema is invalid: properties.a.minimum",
        ),
        ({"$schema": "http://json-schema.org/draft-03/schema#"}, "draft-03"),
        ({"$schema": "https://example.com/mine"}, "https://example.com/mine"),
        ({"properties": {"a": {"$ref": "https://example.com/a"}}}, "https://example.com/a"),
        ({"$ref": "file:///etc/passwd"}, "file:///etc/passwd"),
        ({"$ref": "#/$defs/nowhere"}, "/$defs/nowhere"),
        ({"default": {1, 2}}, "Unsupported type: 'set'"),
    ],
)
def test_a_schema_that_cannot_work_is_refused_by_name(schema: dict[Any, Any], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_schema(schema)
    assert text in str(caught.value)


def test_the_declared_dialect_is_honoured() -> None:
    items = {"type": "array", "items": [{"type": "integer"}]}
    draft7 = compile_schema({**items, "$schema": "http://json-schema.org/draft-07/schema#"})
    assert draft7.is_valid([1, "x"])
    assert not draft7.is_valid(["x"])
    with pytest.raises(UsageError):
        compile_schema(items)  # in 2020-12 a list of items is no schema


def test_a_format_is_a_note_unless_it_is_asserted() -> None:
    schema = {"format": "date"}
    assert SchemaValidator(schema, asserts_formats=False).is_valid("x")
    assert not SchemaValidator(schema, asserts_formats=True).is_valid("x")


def test_check_raises_with_every_problem() -> None:
    validator = compile_schema({"items": {"type": "integer"}})
    validator.check([1])
    with pytest.raises(InvalidValueError) as caught:
        validator.check(["a", 1, "b"])
    assert [problem.path for problem in caught.value.problems] == ["[0]", "[2]"]


def test_failing_keys_name_the_parts_of_an_object() -> None:
    schema = {"required": ["z"], "additionalProperties": {"items": {"type": "integer"}}}
    assert compile_schema(schema).failing_keys({"a": ["x"], "1": ["x"], "b": [1]}) == ["a", "1"]


def test_problems_are_found_with_the_steps_of_their_paths() -> None:
    dates = {"type": "object", "properties": {"days": {"items": {"format": "date"}}}}
    found = find_problems(dates, {"days": ["2026-01-31", "tomorrow"]})
    assert found == [(["days", 1], "date such as 2025-01-31")]
    assert find_problems(dates, {"days": []}) == []


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("schema", [{"enum": [1, [2]]}, {"uniqueItems": True, "minItems": 2}])
def test_a_value_with_too_many_levels_is_invalid(schema: dict[str, Any]) -> None:
    validator = SchemaValidator(schema, asserts_formats=False)
    value = [nested(400), nested(400)] if "minItems" in schema else nested(400)
    with pytest.raises(InvalidValueError, match="less deeply nested JSON"):
        validator.check(value)
    assert find_problems({"type": "integer"}, nested(400)) == [([], "less deeply nested JSON")]
    assert find_problems({"type": "integer"}, "a") == [([], "integer")]
