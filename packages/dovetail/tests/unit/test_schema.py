"""Reading JSON Schemas: references, merged parts, choices and variants."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import schema as reading

ROOT: dict[str, Any] = {
    "$defs": {
        "a/b": {"type": "integer"},
        "c~d": {"type": "boolean"},
        "e f": {"type": "number"},
        "chain": {"$ref": "#/$defs/a~1b", "minimum": 1},
        "circle": {"$ref": "#/$defs/circle", "title": "C"},
        "no": False,
    },
    "list": [{"type": "string"}],
}


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", ROOT),
        ("#/$defs/a~1b", {"type": "integer"}),
        ("#/$defs/c~0d", {"type": "boolean"}),
        ("#/$defs/e%20f", {"type": "number"}),
        ("#/list/0", {"type": "string"}),
        ("#/list/9", None),
        ("#/list/x", None),
        ("#/list/0/type/x", None),
        ("#/missing", None),
        ("#anchor", None),
        ("http://elsewhere.example/x", None),
    ],
)
def test_references_lead_to_parts_of_the_document(reference: str, found: Any) -> None:
    assert reading.find(reference, ROOT) == found


@pytest.mark.parametrize(
    ("given", "resolved"),
    [
        ({"$ref": "#/$defs/chain", "minimum": 3}, {"minimum": 3, "type": "integer"}),
        ({"$ref": "#/$defs/chain", "maximum": 3}, {"maximum": 3, "minimum": 1, "type": "integer"}),
        ({"$ref": "#/$defs/circle"}, {"title": "C"}),
        ({"$ref": "#/$defs/no"}, {"not": {}}),
        ({"not": {"type": "null"}, "allOf": [False]}, {"not": {}}),
        ({"$ref": "#/missing", "title": "T"}, {"title": "T"}),
        ({"$ref": 5}, {}),
        ({"allOf": [{"type": "number"}, {"type": ["integer", "null"]}]}, {"type": "integer"}),
        ({"type": "string", "allOf": [{"type": "null"}]}, {"not": {}}),
        ({"title": "mine", "allOf": [{"title": "theirs"}]}, {"title": "mine"}),
        ({"required": ["a"], "allOf": [{"required": ["b", "a"]}]}, {"required": ["a", "b"]}),
        ({"required": ["a"], "allOf": [{"required": 1}]}, {"required": ["a"]}),
        ({"enum": [1, 2], "allOf": [{"enum": [2, 3]}]}, {"enum": [2]}),
        ({"minimum": "x", "allOf": [{"minimum": 2}]}, {"minimum": "x"}),
        ({"uniqueItems": False, "allOf": [{"uniqueItems": True}]}, {"uniqueItems": True}),
        ({"properties": 1, "allOf": [{"properties": {}}]}, {"properties": 1}),
        (
            {"properties": {"a": {"minimum": 1}}, "allOf": [{"properties": {"a": {}, "b": {}}}]},
            {"properties": {"a": {"allOf": [{"minimum": 1}, {}]}, "b": {}}},
        ),
        ({"items": {"type": "x"}, "allOf": [{"items": {"type": "x"}}]}, {"items": {"type": "x"}}),
        (
            {"anyOf": [{"title": "a"}], "allOf": [{"anyOf": [{"title": "b"}, {"title": "c"}]}]},
            {"anyOf": [{"allOf": [{"title": "a"}, {"title": x}]} for x in "bc"]},
        ),
        ({"oneOf": [{}] * 9, "allOf": [{"oneOf": [{}] * 9}]}, {"oneOf": [{}] * 9}),
        (True, {}),
        (5, {}),
    ],
)  # fmt: skip
def test_references_and_parts_become_one_schema(given: Any, resolved: Any) -> None:
    assert reading.resolve(given, ROOT) == resolved


def test_the_references_that_are_followed_are_known() -> None:
    given = {"$ref": "#/$defs/chain", "properties": {"a": {"$ref": "#/$defs/no"}}}
    assert reading.references(given, ROOT) == {"#/$defs/chain", "#/$defs/a~1b"}
    assert reading.references(True, ROOT) == set()


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string"]}, "string"),
        ({"type": ["string", "null"]}, "union"),
        ({"type": "null"}, "choice"),
        ({"const": 1}, "choice"),
        ({"anyOf": [{"const": 1}, {"enum": [2]}, {"type": "null"}]}, "choice"),
        ({"anyOf": [{"const": 1}, {"type": "string"}]}, "union"),
        ({"anyOf": [{"const": 1}, {"anyOf": [{"const": 2}]}]}, "union"),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "object"),
        ({"anyOf": []}, "any"),
        ({"properties": {}}, "object"),
        ({"minItems": 1}, "array"),
        ({"pattern": "a"}, "string"),
        ({"maximum": 1}, "number"),
        ({}, "any"),
        ({"type": 5}, "any"),
    ],
)
def test_what_a_schema_describes(given: Any, kind: str) -> None:
    assert reading.kind(given, ROOT) == kind


@pytest.mark.parametrize(
    ("given", "choices"),
    [
        ({"enum": ["r", "g", "b"], "enumNames": ["Red", "Green"]},
         [("r", "Red"), ("g", "Green"), ("b", "")]),
        ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}, [(1, "One"), (2, "")]),
        ({"enum": 1}, []),
    ],
)  # fmt: skip
def test_choices_have_titles(given: Any, choices: Any) -> None:
    assert reading.choices(given, ROOT) == choices


def test_variants_have_what_is_beside_the_union() -> None:
    branches = [{"type": "object"}, {"$ref": "#/list/0"}]
    given = {"oneOf": branches, "title": "T", "default": 1, "minLength": 2}
    found = reading.variants(given, ROOT)
    assert [branch for branch, _ in found] == branches
    assert reading.resolve(found[1][1], ROOT) == {"type": "string", "minLength": 2}
    types = reading.variants({"type": ["string", "null"], "minLength": 2}, ROOT)
    assert types == [(name, {"type": name, "minLength": 2}) for name in ("string", "null")]


def test_schemas_are_walked_and_data_is_not() -> None:
    inner = [{"title": str(number)} for number in range(6)]
    schema = {
        "properties": {"a": inner[0]},
        "anyOf": [inner[1]],
        "items": [inner[2]],
        "not": inner[3],
        "dependencies": {"x": ["y"], "z": inner[4]},
        "default": {"properties": {"a": inner[5]}},
        "allOf": 1,
        "$defs": 1,
    }
    found = [part for _, part in reading.inner_schemas(schema)]
    assert [part for part in found if isinstance(part, dict)] == inner[:5]

    def mark(part: dict[str, Any]) -> dict[str, Any]:
        return {"x": 1, **part}

    marked = reading.map_schemas(schema, mark)
    assert marked == {
        "x": 1,
        "properties": {"a": mark(inner[0])},
        "anyOf": [mark(inner[1])],
        "items": [mark(inner[2])],
        "not": mark(inner[3]),
        "dependencies": {"x": ["y"], "z": mark(inner[4])},
        "default": schema["default"],
        "allOf": 1,
        "$defs": 1,
    }
