"""Schemas of 3.0 and 3.1 as JSON Schema 2020-12."""

from __future__ import annotations

from typing import Any, Literal

import jsonschema
import pytest

from dovetail.errors import UsageError
from dovetail_openapi import schemas
from dovetail_openapi.document import Document, DocumentNode
from dovetail_openapi.schemas import SchemaConverter, is_binary

TREE = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/defs/Tree"}}},
}


def node(schema: Any, version: str = "3.1.0", **definitions: Any) -> DocumentNode:
    document = Document({"openapi": version, "schema": schema, "defs": definitions}, "")
    found = document.root.find("schema")
    assert found is not None
    return found


def convert(
    schema: Any, version: str = "3.1.0", direction: Literal["request", "response"] = "request"
) -> Any:
    converter = SchemaConverter(direction)
    return converter.convert(node(schema, version))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True},
         {"type": ["string", "null"], "enum": ["a", None]}),
        ({"allOf": [{"type": "object"}], "nullable": True, "description": "d"},
         {"description": "d", "anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True},
         {"type": "number", "exclusiveMinimum": 1}),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False},
         {"type": "number", "maximum": 1}),
    ],
)  # fmt: skip
def test_keywords_of_30_are_converted(schema: Any, expected: Any) -> None:
    assert convert(schema, "3.0.3") == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"title": "T", "example": 1, "xml": {}, "x-a": 1, "discriminator": {}}, {}),
        ({"type": "date", "maxLength": "9", "minimum": True, "required": True, "enum": []}, {}),
        ({"type": "string", "pattern": "(?<!a"}, {"type": "string"}),
        ({"type": "string", "format": "binary"},
         {"type": "string", "contentEncoding": "base64"}),
        ({"oneOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}]}),
        ({"oneOf": [{"const": 1}], "anyOf": [{"const": 1}]},
         {"anyOf": [{"const": 1}], "allOf": [{"anyOf": [{"const": 1}]}]}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"enum": [1, 1, True, 1.0]}, {"enum": [1, True, 1.0]}),
    ],
)  # fmt: skip
def test_keywords_without_a_use_are_dropped(schema: Any, expected: Any) -> None:
    assert convert(schema) == expected


def test_properties_of_the_other_direction_are_dropped() -> None:
    schema = {
        "type": "object",
        "required": ["id", "secret"],
        "properties": {"id": {"readOnly": True}, "secret": {"writeOnly": True}},
    }
    assert convert(schema)["required"] == ["secret"]
    in_part = {"properties": {"id": {"allOf": [{"type": "object"}, {"readOnly": True}]}}}
    assert convert(in_part) == {"properties": {}}
    assert list(convert(schema, direction="response")["properties"]) == ["id"]


def test_a_cycle_becomes_a_definition() -> None:
    converter = SchemaConverter("request")
    schema = converter.complete(converter.convert(node({"$ref": "#/defs/Tree"}, Tree=TREE)), 9999)
    assert schema["$ref"] == "#/$defs/Tree"
    validator = jsonschema.Draft202012Validator(schema)
    assert validator.is_valid({"children": [{"children": []}]})
    assert not validator.is_valid({"children": [{"children": 3}]})


def test_definitions_with_one_name_stay_apart() -> None:
    document = node({"allOf": [{"$ref": "#/defs/A"}, {"$ref": "#/other/A"}]}, A={"const": 1})
    document.document.value["other"] = {"A": {"const": 2}}
    converter = SchemaConverter("request")
    schema = converter.complete(converter.convert(document), 9999)
    assert sorted(each["const"] for each in schema["$defs"].values()) == [1, 2]


def test_a_large_schema_is_cut_where_references_are_deep() -> None:
    definitions: dict[str, Any] = {
        f"D{n}": {"type": "object", "properties": {"next": {"$ref": f"#/defs/D{n + 1}"}}}
        for n in range(20)
    }
    definitions["D20"] = {"type": "string", "description": "the end"}
    converter = SchemaConverter("request")
    source = converter.convert(node({"$ref": "#/defs/D0"}, **definitions))
    schema = converter.complete(source, 500)
    assert len(str(schema)) < 1000
    assert len(schema["$defs"]) > 1
    assert {"next": {"type": "object"}} in [each["properties"] for each in schema["$defs"].values()]
    assert converter.complete(source, 0) == {"type": "object"}


def test_objects_are_recognized() -> None:
    converter = SchemaConverter("response")
    for schema, expected in [
        ({"type": "object"}, True),
        ({"properties": {}}, True),
        ({"allOf": [{"$ref": "#/defs/A"}]}, True),
        ({"type": ["object", "null"]}, False),
        ({"anyOf": [{"type": "object"}]}, False),
    ]:
        converted = converter.root(node(schema, A={"type": "object"}))
        assert converter.is_object(converted) is expected


def test_files_are_recognized() -> None:
    assert is_binary(node({"format": "binary"}))
    assert is_binary(node({"contentMediaType": "image/png"}))
    assert not is_binary(node({"contentMediaType": "image/png", "contentEncoding": "base64"}))
    assert not is_binary(node({"contentMediaType": "application/json"}))


def test_deep_nesting_and_wrong_kinds_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(150):
        deep = {"items": deep}
    with pytest.raises(UsageError, match=r"#/schema/items/.*nested more than 100 levels"):
        convert(deep)
    with pytest.raises(UsageError, match="#/schema/properties/a: expected an object, got 3"):
        convert({"properties": {"a": 3}})


def test_schemas_that_multiply_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level has the one below ten times, as with the aliases of YAML."""
    monkeypatch.setattr(schemas, "MAX_SCHEMAS", 1000)
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(9):
        schema = {"properties": {f"p{n}": schema for n in range(10)}}
    with pytest.raises(UsageError, match="stands for more than 1,000 schemas"):
        convert(schema)


def test_a_long_enum_is_read_in_one_pass() -> None:
    # Comparing each value with all others would take longer than anybody waits.
    values = [str(number) for number in range(200_000)]
    assert convert({"enum": [*values, *values]}) == {"enum": values}
