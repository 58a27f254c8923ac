"""The description of forms: every module below `console/forms`, and its endpoints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import UNSET

from dovetail.console.form_service import FormService
from dovetail.console.forms.answers import FormAnswer, FormRequest, answer_form
from dovetail.console.forms.checking import Checker
from dovetail.console.forms.edits import Edit
from dovetail.console.forms.form_schema import FormSchema
from dovetail.console.forms.nodes import FormNode, State
from dovetail.console.forms.outline import outline
from dovetail.console.forms.references import References
from dovetail.console.forms.simple_schema import simplify
from dovetail.console.forms.words import describe_limits, describe_type
from tests.unit.console.pages import browse, make_server, token_of

OBJECT = {"type": "object"}


def ask(schema: Any, value: Any = UNSET, **more: Any) -> FormAnswer:
    return answer_form(FormSchema(schema), FormRequest(schema, value, **more))


def errors_of(schema: Any, value: Any, **more: Any) -> list[str]:
    found = ask(schema, value, **more).errors
    return [f"/{'/'.join(map(str, each.path))} {each.message}" for each in found]


def members(node: FormNode) -> dict[str, FormNode]:
    assert isinstance(node.children, dict)
    return node.children


def items(node: FormNode) -> list[FormNode]:
    assert isinstance(node.children, list)
    return node.children


def child(node: FormNode, key: str | int) -> FormNode:
    return items(node)[key] if isinstance(key, int) else members(node)[key]


# -- references and translation ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", "root"),
        ("#/$defs/a~1b", 1),
        ("#/list/1", 3),
        ("#/list/9", UNSET),
        ("#/list/x", UNSET),
        ("#/missing", UNSET),
        ("#here", {"$anchor": "here"}),
        ("item.json#/n", 4),
        ("http://elsewhere.example/x", UNSET),
        ("http://[bad", UNSET),
    ],
)
def test_references_lead_to_parts_of_the_document(reference: str, found: Any) -> None:
    root = {
        "$id": "http://a.example/root.json",
        "$defs": {"a/b": 1},
        "list": [2, 3],
        "here": {"$anchor": "here"},
        "inner": {"$id": "item.json", "n": 4},
        "bad": {"$id": "http://[bad"},
    }
    assert References(root).find(root, reference) == (root if found == "root" else found)


@pytest.mark.parametrize(
    ("given", "simple"),
    [
        ({"pattern": "("}, {}),
        ({"patternProperties": {"(": {}, "a": {}}}, {"patternProperties": {"a": {}}}),
        ({"patternProperties": 1, "properties": 1, "allOf": {}, "items": 1}, {}),
        ({"type": "strin"}, {}),
        ({"type": ["null", "x", "string"]}, {"type": ["null", "string"]}),
        ({"minimum": "a", "enum": [], "examples": 1, "title": 2, "required": "a"}, {}),
        ({"$ref": "http://elsewhere.example"}, {}),
        ({"$ref": 5}, {}),
        ({"x-unknown": 1, "$comment": "c"}, {}),
        ({"$schema": "http://unknown.example", "type": "string"}, {"type": "string"}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        (
            {"items": [{}], "additionalItems": False},
            {"prefixItems": [{}], "items": False},
        ),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"], "nullable": True},
         {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "string", "const": "a", "nullable": True},
         {"type": ["string", "null"], "enum": ["a", None]}),
        ({"minLength": 1, "title": "t", "nullable": True},
         {"title": "t", "anyOf": [{"minLength": 1}, {"type": "null"}]}),
        ({"title": "t", "nullable": True}, {"title": "t"}),
        ({"unevaluatedProperties": False}, {"additionalProperties": False}),
        ({"dependentRequired": {"a": ["b"]}}, {"dependentSchemas": {"a": {"required": ["b"]}}}),
        (
            {"dependencies": {"a": ["b"]}, "dependentSchemas": {"a": {}}},
            {"dependentSchemas": {"a": {"allOf": [{"required": ["b"]}, {}]}}},
        ),
        (5, True),
        (False, False),
    ],
)  # fmt: skip
def test_schemas_of_all_drafts_become_simple(given: Any, simple: Any) -> None:
    found, _ = simplify(given)
    if isinstance(found, dict):
        found.pop("$comment", None)
    assert found == simple


def test_what_stands_next_to_a_reference_counts_since_2019() -> None:
    schema = {"$ref": "#/definitions/a", "minLength": 5, "definitions": {"a": {"type": "string"}}}
    assert errors_of(schema, "abc") == ["/ must have at least 5 characters"]
    assert errors_of({**schema, "$schema": "http://json-schema.org/draft-07/schema#"}, "abc") == []


def test_a_reference_to_false_accepts_nothing() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/no"}}, "$defs": {"no": False}}
    assert errors_of(schema, {"a": 1}) == ["/a must not be this: any JSON"]


# -- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "errors"),
    [
        ({"minimum": 1}, 0, ["/ must be at least 1"]),
        ({"exclusiveMinimum": 1}, 1, ["/ must be more than 1"]),
        ({"maximum": 2**60}, 2**60 + 1, [f"/ must be at most {2**60}"]),
        ({"exclusiveMaximum": 1.5}, 2, ["/ must be less than 1.5"]),
        ({"multipleOf": 5}, 7, ["/ must be a multiple of 5"]),
        ({"minLength": 3}, "🦊🦊", ["/ must have at least 3 characters"]),
        ({"maxLength": 1}, "ab", ["/ must have at most 1 character"]),
        ({"minItems": 2}, [1], ["/ must have at least 2 items"]),
        ({"maxProperties": 0}, {"a": 1}, ["/ must have at most 0 members"]),
        ({"pattern": "^a"}, "b", ["/ must match the pattern ^a"]),
        ({"format": "email"}, "b", ["/ must be an email address"]),
        ({"format": "duration"}, "b", ["/ must be a value of the format duration"]),
        ({"type": ["string", "null"]}, 1, ["/ must be string or null"]),
        ({"enum": ["a", 1.0]}, 2, ["/ must be one of a, 1"]),
        ({"const": ""}, 2, ["/ must be empty"]),
        ({"const": 1}, True, ["/ must be 1"]),
        ({"uniqueItems": True}, [1, True, 1.0], ["/2 is there twice"]),
        ({"required": ["a", "b"]}, {"a": 1}, ["/b is required"]),
        ({"additionalProperties": False}, {"a": 1}, ["/a is not allowed"]),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1},
         ["/ab has a name that must have at most 1 character"]),
        ({"not": {"type": "null"}}, None, ["/ must not be this: null"]),
        ({"contains": {"type": "integer"}}, ["a"],
         ["/ must have at least 1 item of this kind: integer"]),
        ({"contains": {"type": "integer"}, "maxContains": 1}, [1, 2],
         ["/ must have at most 1 item of this kind: integer"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, ["/ must be string or null"]),
        ({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 5}]}, 1,
         ["/ must be at least 5"]),
        ({"oneOf": [{"title": "x"}, {"title": "y"}]}, 1, ["/ must fit only one of: x, y"]),
        ({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
         {"a": 1}, ["/b is required"]),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, ["/b is required"]),
        ({"patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}}}, {"ab": 1},
         ["/ab must be at least 5"]),
        ({"prefixItems": [{"type": "string"}], "items": False}, ["a", 1], ["/1 is not allowed"]),
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, {"b": 1},
         ["/ does not match the schema"]),
        ({"properties": {"a": {}}, "unevaluatedProperties": False}, {"b": 1},
         ["/b is not allowed"]),
        (False, 1, ["/ is not allowed"]),
        (True, 1, []),
    ],
)  # fmt: skip
def test_errors_are_told_in_words(schema: Any, value: Any, errors: list[str]) -> None:
    assert errors_of(schema, value) == errors


def test_a_place_that_is_not_filled_in_is_not_judged() -> None:
    schema = {"items": {"type": "string"}, "uniqueItems": True}
    answer = ask(schema, [None, "a", None, "a"], holes=[(0,), (2,)])
    assert [(each.path, each.message) for each in answer.errors] == [((3,), "is there twice")]
    assert child(answer.node, 0).errors == ["is required"]
    assert ask({"type": "string"}, None, holes=[()]).errors == []


# -- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "string or …"),
        ({"const": ""}, '""'),
        ({"enum": list(range(9))}, "one of 0, 1, 2, 3, 4, 5, … (9)"),
        (False, "never"),
        ({"minItems": 1}, "array"),
    ],
)
def test_types_in_words(schema: Any, words: str) -> None:
    form = FormSchema(schema)
    assert describe_type(form, form.root).replace("string or string", "string") == words


def test_bounds_of_64_bits_are_not_told() -> None:
    assert describe_limits({"minimum": -(2**63), "maxLength": 5, "pattern": "a"}) == (
        "at most 5 characters, matches a"
    )


# -- nodes ------------------------------------------------------------------------------------


def test_a_node_has_what_the_page_draws() -> None:
    schema = {
        "type": "object",
        "properties": {
            "body": {"type": "string", "title": "T", "description": "D", "default": "x"},
            "when": {"type": "string", "format": "date", "examples": ["2026-01-31"]},
            "on": {"type": "boolean", "deprecated": True},
            "no": False,
        },
        "required": ["body"],
        "additionalProperties": {"type": "integer"},
    }
    node = ask(schema, {"when": "soon", "more": 1}).node
    body, when = child(node, "body"), child(node, "when")
    assert (body.title, body.about, body.placeholder) == ("T", "D", "default: x")
    assert (body.is_tall, body.is_required, body.is_listed) == (True, True, True)
    assert body.can_be_empty
    assert body.errors == ["is required"]
    assert (when.input, when.example, when.placeholder) == ("", "2026-01-31", "e.g. 2026-01-31")
    assert child(ask(schema, {"when": "2026-01-31"}).node, "when").input == "date"
    assert child(node, "on").type == "boolean, deprecated"
    assert child(node, "more").is_extra
    assert list(members(node)) == ["body", "when", "on", "more"]
    assert node.can_add


def test_an_object_with_known_properties_takes_no_others() -> None:
    assert not ask({"properties": {"a": {}}}, {}).node.can_add
    assert ask({"properties": {"a": {}}, "minProperties": 2}, {}).node.can_add
    assert ask({"properties": {"a": {}}, "patternProperties": {"b": {}}}, {}).node.can_add


def test_several_choices_are_ticked_unless_their_order_matters() -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b"]}}
    assert ask(schema, ["a", "b"]).node.ticks is not UNSET
    assert ask(schema, ["b", "a"]).node.ticks is UNSET
    assert ask({**schema, "minItems": 3}, []).node.ticks is UNSET


def test_more_items_are_drawn_when_they_are_wanted() -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "maxItems": 150}
    node = ask(schema, list(range(150))).node
    assert len(items(node)) == 100
    assert not node.can_add
    more = ask(schema, list(range(150)), states=[((), State(shown=200))]).node
    assert len(items(more)) == 150


UNION = {
    "anyOf": [
        {"type": "object", "properties": {"k": {"const": 1}, "n": {"type": "string"}}},
        {"type": "object", "properties": {"k": {"const": 2}, "n": {"type": "string"}},
         "required": ["k"]},
        {"type": "integer", "minimum": 5},
    ]
}  # fmt: skip


def test_the_closest_variant_is_drawn_unless_another_one_is_picked() -> None:
    node = ask(UNION, {"k": 2}).node
    assert [(each.labels, each.index) for each in node.variants] == [
        (["k: 1", "k: 2", "integer"], 1)
    ]
    picked = ask(UNION, 1, states=[((), State(picked=[2]))]).node
    assert (picked.variants[0].index, picked.state.picked) == (2, [2])
    assert ask(UNION, 1, states=[((), State(picked=[9]))]).node.variants[0].index == 2


def test_the_errors_of_a_picked_variant_are_shown() -> None:
    schema = {"anyOf": [{"type": "string", "minLength": 5}, {"type": "integer", "minimum": 5}]}
    node = ask(schema, 1, states=[((), State(picked=[0]))]).node
    assert node.errors == ["must be string"]


# -- edits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "edit", "change"),
    [
        ({"properties": {"a": {"type": "array", "minItems": 1}}}, {}, Edit("start", ("a",)),
         (("a",), [None], [(0,)])),
        ({"items": {"type": "object"}}, [1], Edit("item"), ((1,), {}, [])),
        ({"items": {"type": "string"}}, [], Edit("item"), ((0,), None, [()])),
        (OBJECT, {}, Edit("entry", name="x"), (("x",), None, [()])),
        ({"patternProperties": {"^s": {"const": 1}}}, {}, Edit("entry", name="s"), (("s",), 1, [])),
    ],
)  # fmt: skip
def test_edits_start_new_parts(schema: Any, value: Any, edit: Edit, change: Any) -> None:
    made = ask(schema, value, edit=edit).change
    assert made is not UNSET
    assert (made.path, made.value, made.holes) == change


@pytest.mark.parametrize(
    ("schema", "value", "edit", "reason"),
    [
        (OBJECT, {"a": 1}, Edit("entry", name="a"), '"a" is there already'),
        ({"additionalProperties": False}, {}, Edit("entry", name="a"),
         '"a" is not an allowed name'),
        ({"propertyNames": {"maxLength": 1}}, {}, Edit("entry", name="ab"),
         '"ab" has a name that must have at most 1 character'),
        (OBJECT, 1, Edit("entry", name="a"), "is not an object"),
        (OBJECT, {}, Edit("item"), "is not an array"),
        (OBJECT, {}, Edit("pick"), "has no such variant"),
        (OBJECT, {}, Edit("fly"), "there is no action 'fly'"),
    ],
)  # fmt: skip
def test_edits_that_the_schema_forbids_are_refused(
    schema: Any, value: Any, edit: Edit, reason: str
) -> None:
    answer = ask(schema, value, edit=edit)
    assert (answer.refused, answer.change) == (reason, UNSET)


def test_a_picked_variant_keeps_what_it_understands() -> None:
    def pick(value: Any, index: int, **more: Any) -> Any:
        states = [((), State(picked=[index]))]
        made = ask(UNION, value, edit=Edit("pick"), states=states, **more).change
        return made if made is UNSET else made.value

    assert pick({"k": 1, "n": "x"}, 1) == {"k": 2, "n": "x"}
    assert pick({"k": 1, "n": "x"}, 0) is UNSET
    assert pick({"k": 1}, 2) is None
    # What is half-typed is on the page alone.
    assert pick({"k": 1, "n": None}, 1, holes=[("n",)]) == {"k": 2}


def test_a_picked_variant_without_a_value_leaves_a_property_out() -> None:
    schema = {"properties": {"a": {"type": ["string", "integer"]}}}
    states = [(("a",), State(picked=[1]))]
    answer = ask(schema, {"a": "x"}, edit=Edit("pick", ("a",)), states=states)
    assert answer.change is not UNSET
    assert answer.change.is_left_out
    assert child(answer.node, "a").kind == "integer"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}, {"a": 1}),
        ({"type": "object", "properties": {"a": {"default": 1}}}, {}),
        ({"type": ["null", "object"]}, {}),
        ({"type": "array", "prefixItems": [{"const": 1}, {}], "maxItems": 1}, [1]),
        ({"type": "array", "minItems": 2, "items": {"enum": [1, 2]}}, []),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, {"a": {"a": {}}}),
    ],
)
def test_a_form_without_a_value_starts_with_an_initial_one(schema: Any, value: Any) -> None:
    change = ask(schema).change
    assert change is not UNSET
    assert change.value == value


def test_optional_defaults_are_used_on_request() -> None:
    schema = {"type": "object", "properties": {"a": {"default": 1}, "b": {}}}
    change = ask(schema, defaults=True).change
    assert change is not UNSET
    assert change.value == {"a": 1}


# -- hostile schemas and values ---------------------------------------------------------------

_PART = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "end": {"type": "null"}}}


def _nested(levels: int) -> Any:
    value: Any = {"end": "wrong"}
    for _ in range(levels):
        value = {"next": value}
    return value


def _chain(make: Any) -> dict[str, Any]:
    parts = {f"a{i}": make({"$ref": f"#/$defs/a{i + 1}"}) for i in range(60)}
    return {"$defs": {**parts, "a60": {"type": "string"}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_shared_parts_of_a_recursive_union_are_checked_once(keyword: str) -> None:
    branches = [{**_PART, "title": "a"}, {**_PART, "title": "b"}]
    schema = {"$defs": {"n": {keyword: branches}}, "$ref": "#/$defs/n"}
    answer = ask(schema, _nested(60))
    assert [(len(each.path), each.message) for each in answer.errors] == [(61, "must be null")]
    [deep] = ask(schema, _nested(400)).errors
    assert "nested too deeply" in deep.message


@pytest.mark.parametrize(
    "schema",
    [
        _chain(lambda inner: {"anyOf": [inner, dict(inner)]}),
        _chain(lambda inner: {"allOf": [inner, dict(inner)]}),
        _chain(lambda i: {"properties": {"x": i, "y": dict(i)}, "required": ["x", "y"]}),
    ],
)
def test_two_to_the_sixtieth_paths_are_not_followed(schema: Any) -> None:
    assert ask(schema, {}).errors
    assert ask(schema).node.kind


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {"if": {"$ref": "#"}, "then": {"$ref": "#"}},
        {"type": "object", "properties": {f"p{i}": {"$ref": "#"} for i in range(1000)}},
    ],
)
def test_schemas_that_contain_themselves_end(schema: Any) -> None:
    assert ask(schema, {"p1": {"p2": {}}}).node.kind
    assert ask(schema).node.kind


def test_large_and_deep_values_are_bounded() -> None:
    node = ask({"type": "object"}, {str(i): i for i in range(3000)}).node
    assert (node.kind, node.children) == ("any", UNSET)
    [error] = ask({"items": {"type": "string"}}, list(range(300_000))).errors
    assert "too large" in error.message
    assert ask({"items": {"type": "integer"}}, list(range(300_000))).errors == []
    deep: Any = {"type": "string"}
    for _ in range(900):
        deep = {"properties": {"a": deep}}
    assert child(ask(deep, {"a": {"a": 1}}).node, "a").kind == "object"


def test_results_of_a_form_are_dropped_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    service = FormService()
    first = service._find({"type": "string"})
    assert service._find({"type": "string"}) is first
    monkeypatch.setattr("dovetail.console.forms.form_schema._MAX_RESULTS", -1)
    assert service._find({"type": "string"}) is not first
    for number in range(20):
        service._find({"minimum": number})
    assert len(service._forms) == 16


def test_the_checker_alone_agrees_with_the_whole_schema() -> None:
    form = FormSchema(UNION)
    for value in ({"k": 1}, {"k": 3}, 5, 4, "x", {"n": 1}):
        assert form.accepts(value) is not bool(Checker(form, value).find(form.root, value, ()))


# -- outline ----------------------------------------------------------------------------------


def test_a_schema_is_outlined_level_by_level() -> None:
    schema = {
        "properties": {"a": {"type": "array", "items": {"anyOf": [{}, {"enum": ["x", "y"]}]}}},
        "required": ["a"],
    }
    form = FormSchema(schema)
    [a] = outline(form, [])
    assert (a.name, a.is_required, a.has_parts) == ("a", True, True)
    [item] = outline(form, [0])
    assert item.name == "each item"
    assert [part.name for part in outline(form, [0, 0])] == ["option 1", "option 2"]
    assert outline(form, [0, 0])[1].limits == [("enum", '["x","y"]')]
    assert outline(form, [7]) == []
    tuple_ = FormSchema({"prefixItems": [{"type": "string"}]})
    assert [part.name for part in outline(tuple_, [])] == ["item 1"]


# -- endpoints --------------------------------------------------------------------------------


def post(name: str, body: Any) -> httpx.Response:
    async def use(client: httpx.AsyncClient) -> httpx.Response:
        headers = await token_of(client)
        return await client.post(f"/console/api/{name}", json=body, headers=headers)

    return browse(make_server().http_app(console=True), use)


def test_the_endpoint_describes_a_form_with_exact_integers() -> None:
    big = 2**70
    found = post("form", {"schema": {"const": big}, "value": big + 1})
    assert found.status_code == 200
    assert str(big) in found.text
    assert found.json()["errors"] == [{"path": [], "message": f"must be {big}"}]


def test_the_endpoint_outlines_a_schema() -> None:
    found = post("outline", {"schema": {"properties": {"a": {"type": "string"}}}})
    assert found.json()["parts"][0]["type"] == "string"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("form", {}),
        ("form", {"schema": {}, "holes": 1}),
        ("form", {"schema": {}, "value": [], "edit": {"action": "item", "path": [-1]}}),
        ("form", {"schema": {}, "states": [[[], {"picked": [-1]}]]}),
        ("outline", {"schema": {}, "path": ["a"]}),
    ],
)
def test_wrong_requests_are_refused(name: str, body: Any) -> None:
    assert post(name, body).status_code == 400


def test_a_form_needs_the_token_of_the_page() -> None:
    async def use(client: httpx.AsyncClient) -> int:
        return (await client.post("/console/api/form", json={"schema": {}})).status_code

    assert browse(make_server().http_app(console=True), use) == 403


def test_the_form_modules_are_imported_on_first_use() -> None:
    program = (
        "import sys, dovetail.console.api\n"
        "assert 'jsonschema_rs' not in sys.modules\n"
        "assert not [name for name in sys.modules if name.startswith('dovetail.console.forms')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent)
