"""What a form for a JSON Schema has, what is wrong with a value, and the endpoints for both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import UNSET

from dovetail_console.forms import DrawnField, FormAnswer, FormRequest, answer_form, outline
from tests.console.pages import browse, make_server, token_of


def draw(schema: Any) -> DrawnField:
    field = answer_form(FormRequest(schema)).field
    assert isinstance(field, DrawnField)
    return field


def check(schema: Any, value: Any) -> FormAnswer:
    return answer_form(FormRequest(schema, value))


def errors_of(schema: Any, value: Any) -> list[str]:
    answer = check(schema, value)
    assert answer.unchecked == ""
    assert answer.errors is not UNSET
    return [f"/{'/'.join(map(str, each.path))} {each.message}" for each in answer.errors]


# -- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        ({"minimum": 1}, 0, ["/ must be at least 1"]),
        ({"maximum": 2**60}, 2**60 + 1, [f"/ must be at most {2**60}"]),
        ({"minLength": 3}, "🦊🦊", ["/ must have at least 3 characters"]),
        ({"maxLength": 1}, "ab", ["/ must have at most 1 character"]),
        ({"minItems": 2}, [1], ["/ must have at least 2 items"]),
        ({"maxProperties": 0}, {"a": 1}, ["/ must have at most 0 keys"]),
        ({"pattern": "^a"}, "b", ["/ must be text matching ^a"]),
        ({"type": ["string", "null"]}, 1, ["/ must be string or null"]),
        ({"const": 1}, True, ["/ must be the constant 1"]),
        ({"required": ["a", "b"]}, {"a": 1}, ["/b is required"]),
        ({"properties": {"0": {"minimum": 1}}}, {"0": 0}, ["/0 must be at least 1"]),
        ({"properties": {"b": {}}, "additionalProperties": False}, {"a": 1}, ["/a is not allowed"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, ["/ must be string or null"]),
        ({"anyOf": [{"properties": {"k": {"const": 1}}, "required": ["k", "n"]},
                    {"properties": {"k": {"const": 2}}, "required": ["k", "m"]}]},
         {"k": 2}, ["/m is required"]),
        (False, 1, ["/ is not allowed"]),
        (True, 1, []),
    ],
)  # fmt: skip
def test_errors_are_told_in_words(schema: Any, value: Any, errors: list[str]) -> None:
    assert errors_of(schema, value) == errors


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://elsewhere.example"},
        {"$ref": "#/missing"},
        {"$dynamicRef": "#n"},
        {"properties": {"a": {"$id": "http://a.example/x", "$ref": "#/y"}}},
        {"pattern": "("},
        {"type": "strin"},
        {"$schema": "http://unknown.example"},
        {"$ref": 5},
    ],
)
def test_what_cannot_be_checked_here_is_left_to_the_server(schema: Any) -> None:
    answer = check(schema, {"a": 1})
    assert answer.errors == []
    assert answer.unchecked
    assert draw(schema).kind


# -- fields -----------------------------------------------------------------------------------


def test_a_field_has_what_the_page_draws() -> None:
    schema = {
        "type": "object",
        "properties": {
            "body": {"type": "string", "title": "T", "description": "D", "default": "x"},
            "when": {"type": "string", "format": "date", "examples": ["2026-01-31"]},
            "on": {"type": "boolean", "deprecated": True},
            "no": False,
        },
        "required": ["body"],
        "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 2**60},
    }
    field = draw(schema)
    body, when = field.fields["body"], field.fields["when"]
    assert (body.title, body.about, body.default) == ("T", "D", "x")
    assert (body.is_tall, body.can_be_empty, when.can_be_empty) == (True, True, False)
    assert (when.input, when.example, when.type) == ("date", "2026-01-31", "string, date")
    assert field.fields["on"].type == "boolean, deprecated"
    assert field.required == ["body"]
    assert list(field.fields) == ["body", "when", "on"]
    assert isinstance(field.extra, DrawnField)
    # Bounds of 64-bit numbers tell a person nothing.
    assert field.extra.about == "at least 1"


def test_an_object_with_known_properties_takes_no_others() -> None:
    assert draw({"properties": {"a": {}}}).extra is UNSET
    assert draw({"type": "object", "properties": {}}).extra is UNSET
    assert draw({"properties": {"a": {}}, "minProperties": 2}).extra is not UNSET
    assert draw({"type": "object"}).extra is not UNSET


def test_several_choices_can_be_ticked() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2}
    assert (draw(schema).has_ticks, draw(schema).max_items) == (True, 2)
    assert not draw({**schema, "minItems": 3}).has_ticks
    assert not draw({"type": "array", "items": {"type": "string"}}).has_ticks


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}, {"a": 1}),
        ({"type": "object", "properties": {"a": {"default": 1}}}, {}),
        ({"type": ["null", "object"]}, {}),
        ({"type": "array", "minItems": 2, "items": {"enum": [1, 2]}}, []),
        ({"properties": {"a": {"$ref": "#"}, "b": {}}, "required": ["a", "b"]}, {}),
        ({"type": "string"}, UNSET),
        ({"type": "string", "default": "x"}, "x"),
    ],
)
def test_a_form_without_a_value_starts_with_what_is_known(schema: Any, value: Any) -> None:
    assert draw(schema).start == value


def test_optional_defaults_are_used_on_request() -> None:
    schema = {"type": "object", "properties": {"a": {"default": 1}, "b": {}}}
    field = answer_form(FormRequest(schema, defaults=True)).field
    assert isinstance(field, DrawnField)
    assert field.start == {"a": 1}


def test_variants_have_different_labels() -> None:
    schema = {
        "$defs": {"R": {"type": "integer"}},
        "anyOf": [
            {"properties": {"k": {"const": 1}}},
            {"title": "Named", "type": "object"},
            {"$ref": "#/$defs/R"},
            {"required": ["z"]},
            {"type": "string"},
            {"type": "string", "minLength": 1},
        ],
    }
    assert [each.label for each in draw(schema).variants] == [
        *("k: 1", "Named", "R", "with z", "string (5)", "string (6)")
    ]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"const": ""}, '""'),
        ({"enum": list(range(9))}, "one of 0, 1, 2, 3, 4, 5, … (9)"),
        ({"enum": [1.0, None]}, "one of 1, null"),
        ({"type": "array"}, "array"),
        ({"items": {"type": ["string", "null"]}}, "array of (string or null)"),
        ({"allOf": [{"minimum": 1}, {"type": "integer"}]}, "integer"),
        ({"type": "strin"}, "any JSON"),
    ],
)
def test_types_in_words(schema: Any, words: str) -> None:
    assert draw(schema).type == words


@pytest.mark.parametrize(
    "schema",
    [
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"type": "object", "patternProperties": {"^a": {}}},
        {"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}},
        {"type": "array", "prefixItems": [{}]},
        {"type": "array", "items": [{}]},
        {"$ref": "#here"},
        {"$ref": "#"},
        {"allOf": [{}, False]},
        {},
    ],
)
def test_other_schemas_are_an_editor_for_json(schema: Any) -> None:
    assert draw(schema).kind == "any"
    outer = draw({"properties": {"x": schema, "y": {"type": "string"}}})
    assert (outer.fields["x"].kind, outer.fields["y"].kind) == ("any", "string")


def test_recursion_ends_in_an_editor_for_json() -> None:
    field = draw({"properties": {"a": {"type": "string"}, "next": {"$ref": "#"}}})
    assert (field.fields["a"].kind, field.fields["next"].kind) == ("string", "any")


# -- hostile schemas and values ---------------------------------------------------------------


def _count(field: DrawnField) -> int:
    inner = [*field.fields.values(), *field.variants, field.item, field.extra]
    return 1 + sum(_count(each) for each in inner if isinstance(each, DrawnField))


def _nested(levels: int) -> Any:
    value: Any = {"end": "wrong"}
    for _ in range(levels):
        value = {"next": value}
    return value


def _chain(make: Any) -> dict[str, Any]:
    parts = {f"a{i}": make({"$ref": f"#/$defs/a{i + 1}"}) for i in range(60)}
    return {"$defs": {**parts, "a60": {"type": "string"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize(
    "schema",
    [
        _chain(lambda inner: {"anyOf": [inner, dict(inner)]}),
        _chain(lambda inner: {"allOf": [inner, dict(inner)]}),
        _chain(lambda i: {"properties": {"x": i, "y": dict(i)}, "required": ["x", "y"]}),
        {"properties": {f"p{i}": {"anyOf": [{}] * 100} for i in range(1000)}},
        {"allOf": [{"anyOf": [{"title": str(i)} for i in range(100)]}] * 60},
        {"enum": [{"a": 1}] * 10_000},
    ],
)
def test_the_work_for_a_schema_is_bounded(schema: Any) -> None:
    """Two to the sixtieth paths are not followed."""
    assert _count(draw(schema)) < 10_000
    assert check(schema, {}).errors is not UNSET
    assert outline(schema, []) is not None


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_recursive_unions_are_checked_as_deep_as_that_is_quick(keyword: str) -> None:
    part = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/n"}, "end": {"type": "null"}},
    }
    branches = [{**part, "title": "a"}, {**part, "title": "b"}]
    schema = {"$defs": {"n": {keyword: branches}}, "$ref": "#/$defs/n"}
    assert check(schema, _nested(4)).unchecked == ""
    assert check(schema, _nested(4)).errors
    assert check(schema, _nested(60)).unchecked
    assert check(schema, _nested(400)).unchecked


def test_large_values_are_left_to_the_server() -> None:
    assert check({"items": {"type": "integer"}}, list(range(100_000))).unchecked == ""
    assert check({"items": {"type": "integer"}}, list(range(300_000))).unchecked
    assert check({"type": "array"}, [[1] * 1000] * 1000).unchecked
    assert check({"enum": list(range(300_000))}, 1).unchecked


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {"type": "object", "properties": {f"p{i}": {"$ref": "#"} for i in range(1000)}},
    ],
)
def test_schemas_that_contain_themselves_end(schema: Any) -> None:
    assert draw(schema).kind
    assert check(schema, {"p1": {"p2": {}}}).errors is not UNSET


def test_deep_schemas_end_in_an_editor_for_json() -> None:
    deep: Any = {"type": "string"}
    for _ in range(900):
        deep = {"properties": {"a": deep}}
    assert draw(deep).fields["a"].kind == "object"
    assert check(deep, {"a": {"a": 1}}).errors is not UNSET


# -- outline ----------------------------------------------------------------------------------


def test_a_schema_is_outlined_level_by_level() -> None:
    schema = {
        "properties": {"a": {"type": "array", "items": {"anyOf": [{}, {"enum": ["x", "y"]}]}}},
        "required": ["a"],
    }
    [a] = outline(schema, [])
    assert (a.name, a.is_required, a.has_parts) == ("a", True, True)
    [item] = outline(schema, [0])
    assert item.name == "each item"
    assert [part.name for part in outline(schema, [0, 0])] == ["option 1", "option 2"]
    assert outline(schema, [0, 0])[1].limits == [("enum", '["x","y"]')]
    assert outline(schema, [7]) == []
    assert [part.name for part in outline({"prefixItems": [{}]}, [])] == ["item 1"]
    assert [part.name for part in outline({"properties": {"n": {"$ref": "#"}}}, [0, 0])] == ["n"]


# -- endpoints --------------------------------------------------------------------------------


def post(name: str, body: Any) -> httpx.Response:
    async def use(client: httpx.AsyncClient) -> httpx.Response:
        headers = await token_of(client)
        return await client.post(f"/console/api/{name}", json=body, headers=headers)

    return browse(make_server().http_app(console=True), use)


def test_the_endpoint_checks_a_value_with_exact_integers() -> None:
    big = 2**70
    found = post("form", {"schema": {"const": big}, "value": big + 1})
    assert found.status_code == 200
    assert found.json() == {"errors": [{"path": [], "message": f"must be the constant {big}"}]}


def test_the_endpoint_describes_a_form() -> None:
    found = post("form", {"schema": {"type": "array", "items": {"enum": [2**70]}}})
    assert found.json()["field"]["hasTicks"] is True
    assert str(2**70) in found.text


def test_the_endpoint_outlines_a_schema() -> None:
    found = post("outline", {"schema": {"properties": {"a": {"type": "string"}}}})
    assert found.json()["parts"][0]["type"] == "string"


@pytest.mark.parametrize(
    ("name", "body"),
    [("form", {}), ("outline", {"schema": {}, "path": ["a"]}), ("outline", {"path": [-1]})],
)
def test_wrong_requests_are_refused(name: str, body: Any) -> None:
    assert post(name, body).status_code == 400


def test_a_form_needs_the_token_of_the_page() -> None:
    async def use(client: httpx.AsyncClient) -> int:
        return (await client.post("/console/api/form", json={"schema": {}})).status_code

    assert browse(make_server().http_app(console=True), use) == 403


def test_forms_are_imported_on_first_use() -> None:
    program = (
        "import sys, dovetail_console.api\n"
        "assert 'jsonschema_rs' not in sys.modules\n"
        "assert 'dovetail_console.forms' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent)


@pytest.mark.parametrize(
    ("schema", "about"),
    [
        ({"type": "number", "minimum": 0, "maximum": 10}, "at least 0, at most 10"),
        ({"type": "number", "exclusiveMinimum": 0}, "more than 0"),
        ({"type": "string", "minLength": 0, "maxLength": 0}, "at most 0 characters"),
        ({"type": "array", "minItems": 0}, ""),
        ({"type": "number", "exclusiveMinimum": True, "minimum": 0}, "at least 0"),
    ],
)
def test_a_limit_of_zero_is_said_unless_it_limits_nothing(schema: Any, about: str) -> None:
    assert draw(schema).about == about


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"prefixItems": [{"type": "integer"}, {"type": "string"}]}, "[integer, string]"),
        ({"items": [{"type": "integer"}, {}]}, "[integer, any JSON]"),
        ({"prefixItems": [{"prefixItems": [{"type": "null"}]}]}, "[[null]]"),
        ({"prefixItems": [{"type": "null"}] * 9}, f"[{'null, ' * 6}…]"),
    ],
)
def test_a_tuple_has_the_types_of_its_items(schema: Any, words: str) -> None:
    schema = {"type": "array", "minItems": 2, "maxItems": 2, **schema}
    assert draw(schema).type == words
    assert draw({"type": "array", "items": schema}).type == f"array of {words}"
    pair = {"type": "array", "prefixItems": [{}, {}], "minItems": 2, "maxItems": 2}
    assert draw(pair).about == ""


def test_base64_is_a_file_and_its_pattern_is_not_shown() -> None:
    pattern = "^(?:[A-Za-z0-9+/]{4})*$"
    schema = {"type": "string", "contentEncoding": "base64", "pattern": pattern}
    field = draw(schema)
    assert (field.type, field.about, field.is_file) == ("string, base64", "", True)
    assert errors_of(schema, "!") == ["/ must be base64"]
