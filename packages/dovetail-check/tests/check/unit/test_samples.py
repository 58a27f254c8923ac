from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail_check.samples import NoSampleError, sample, samples

JUDGE = jsonschema.Draft202012Validator


def scalars() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.just({"type": "boolean"}),
        st.just({"type": "null"}),
        lengths(),
        bounds(),
        st.sampled_from(PATTERNS).map(lambda pattern: {"type": "string", "pattern": pattern}),
        st.sampled_from(["date", "date-time", "email", "uri", "uuid", "ipv4", "hostname"]).map(
            lambda name: {"type": "string", "format": name}
        ),
        st.lists(st.integers() | st.text(), min_size=1).map(lambda values: {"enum": values}),
        st.one_of(st.integers(), st.text(), st.booleans()).map(lambda value: {"const": value}),
    )


PATTERNS = (
    r"^[a-z]+$",
    r"^[A-Z]{3}-\d{4}$",
    r"^(red|green|blue)$",
    r"^\w[\w.-]*@example\.com$",
    r"^#[0-9a-fA-F]{6}$",
    r"^(?:v)?\d+\.\d+(?:\.\d+)?$",
    r"^[^/]+/[^/]+$",
    r"^.{5,10}$",
    r"x",
)


@st.composite
def lengths(draw: st.DrawFn) -> dict[str, Any]:
    least = draw(st.integers(0, 40))
    return {
        "type": "string",
        "minLength": least,
        "maxLength": least + draw(st.integers(0, 10)),
    }


@st.composite
def bounds(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["integer", "number"]))
    least = draw(st.integers(-1000, 1000))
    step = draw(st.sampled_from([None, 1, 3, 7, 0.5, 0.25]))
    # Wide enough that a multiple lies within, exclusive bounds or not.
    most = least + draw(st.integers(2 if step is None else 20, 100))
    lower = draw(st.sampled_from(["minimum", "exclusiveMinimum"]))
    upper = draw(st.sampled_from(["maximum", "exclusiveMaximum"]))
    schema: dict[str, Any] = {"type": kind}
    schema |= draw(st.sampled_from([{lower: least, upper: most}, {lower: least}, {upper: most}]))
    return schema if step is None else schema | {"multipleOf": step}


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["a", "b", "c", "d"])
    objects = st.builds(
        lambda properties, closed: {
            "type": "object",
            "properties": properties,
            "required": sorted(properties)[:2],
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(names, inner, max_size=4),
        st.booleans(),
    )
    arrays = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least},
        inner,
        st.integers(0, 5),
    )
    return st.one_of(
        objects,
        arrays,
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"anyOf": parts}),
        inner.map(lambda part: {"allOf": [part, {}]}),
        inner.map(lambda part: {"$defs": {"part": part}, "description": "by reference"} | part),
    )


schemas = st.recursive(scalars(), containers, max_leaves=8)


@settings(max_examples=300, deadline=None)
@given(schemas)
def test_a_sample_fits_by_the_word_of_another_library(schema: dict[str, Any]) -> None:
    value = sample(schema)
    JUDGE(schema, format_checker=JUDGE.FORMAT_CHECKER).validate(value)
    json.dumps(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "minimum": 7}}},
        {
            "type": "object",
            "properties": {"node": {"$ref": "#/$defs/node"}},
            "required": ["node"],
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}},
                    "required": ["n"],
                }
            },
        },
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"a": {"minLength": 3}, "b": {"const": 2}}, "required": ["b"]},
            ]
        },
        {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]},
        {"type": "array", "uniqueItems": True, "minItems": 5, "items": {"type": "integer"}},
        {"type": "array", "uniqueItems": True, "minItems": 4, "items": {"type": "string"}},
        {"type": "array", "uniqueItems": True, "minItems": 2, "items": {"type": "boolean"}},
        {"type": "array", "prefixItems": [{"const": "x"}, {"type": "integer"}], "minItems": 3},
        {"type": "array", "items": False, "prefixItems": [{"type": "integer"}], "minItems": 1},
        {"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}},
        {"type": "string", "minLength": 12, "pattern": "^[a-f0-9]+$"},
        {"type": "string", "minLength": 12, "pattern": "^a"},
        {"type": ["null", "integer"]},
        {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
        {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^[a-z]+$"}},
        {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {"^x-[a-z]+$": {"type": "number"}},
            "additionalProperties": False,
        },
        {"type": "object", "required": ["unheard-of"]},
        {
            "type": "object",
            "properties": {"kind": {"enum": ["a", "b"]}, "size": {"type": "integer"}},
            "required": ["kind"],
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"required": ["size"]},
        },
        {"not": {"type": "string"}},
        {"type": "integer", "not": {"enum": [1, 2]}},
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
        {"type": "number", "multipleOf": 0.1, "minimum": 0.75, "maximum": 0.85},
        {"default": "wrong", "type": "integer"},
        {"examples": ["Oslo"], "type": "string"},
        {"type": "object", "properties": {"a": {}}, "dependentRequired": {"a": ["b"]}},
        True,
        {},
    ],
)
def test_keywords_that_depend_on_each_other(schema: Any) -> None:
    JUDGE(schema).validate(sample(schema))


def test_draft_4_has_flags_for_exclusive_bounds() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "integer",
        "minimum": 1,
        "exclusiveMinimum": True,
    }
    assert sample(schema) == 2


def test_what_the_author_suggests_comes_first() -> None:
    assert sample({"type": "string", "examples": ["Oslo", "Bergen"]}) == "Oslo"
    assert sample({"type": "string", "default": "Bodø"}) == "Bodø"


@pytest.mark.parametrize(
    "schema",
    [
        False,
        None,
        [],
        {"type": "bogus"},
        {"type": "string", "pattern": "^(?=x)y$"},
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"$ref": "https://example.com/elsewhere.json"},
        {"$ref": "#/$defs/missing"},
        {"type": "array", "minItems": 10**9},
        {"type": "string", "minLength": 10**9},
        {"type": "string", "minLength": "three"},
        {"required": 5},
        {"enum": []},
        {"allOf": [False]},
        {"$schema": "https://example.com/own-dialect", "type": "string"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]},
    ],
)
def test_no_sample_is_better_than_a_wrong_one(schema: Any) -> None:
    with pytest.raises(NoSampleError):
        sample(schema)


def test_there_can_be_several() -> None:
    found = list(samples({"enum": [1, 2, 3]}))
    assert found == [1, 2, 3]


def test_an_array_of_itself_has_samples_soon() -> None:
    schema = {"$defs": {"A": {"type": "array", "items": {"$ref": "#/$defs/A"}}}}
    assert [] in samples({**schema, "$ref": "#/$defs/A"})
