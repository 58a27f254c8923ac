from __future__ import annotations

from typing import Any

from dovetail.core.schema.references import assemble, map_schemas, rename_references

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}}
LINE = {"type": "object", "properties": {"start": {"$ref": "#/$defs/Point", "description": "S"}}}
NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


def test_a_root_reference_is_spelled_out_and_what_stands_beside_it_wins() -> None:
    root = {"$ref": "#/$defs/Point", "description": "Mine"}
    definition = {**POINT, "description": "Theirs"}
    found = assemble(root, {"Point": definition}, inline_refs=False)
    assert found == {**POINT, "description": "Mine"}


def test_only_definitions_that_are_referred_to_are_kept() -> None:
    found = assemble(
        {"$ref": "#/$defs/Line"}, {"Point": POINT, "Line": LINE, "Node": NODE}, inline_refs=False
    )
    assert found == {**LINE, "$defs": {"Point": POINT}}


def test_references_can_be_copied_in_place() -> None:
    found = assemble(
        {"items": {"$ref": "#/$defs/Line"}}, {"Point": POINT, "Line": LINE}, inline_refs=True
    )
    start = {**POINT, "description": "S"}
    assert found == {"items": {"type": "object", "properties": {"start": start}}}


def test_a_recursive_type_keeps_its_reference() -> None:
    definitions: dict[str, Any] = {
        "Node": {**NODE, "items": {"$ref": "#/$defs/Point"}},
        "Point": POINT,
    }
    found = assemble({"$ref": "#/$defs/Node"}, definitions, inline_refs=True)
    inlined = {**NODE, "items": POINT}
    assert found == {**inlined, "$defs": {"Node": inlined}}


def test_references_are_renamed_everywhere_but_in_data() -> None:
    schema = {
        "anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}, True],
        "default": {"$ref": "#/$defs/A"},
    }
    assert rename_references(schema, {"A": "A_2"}) == {
        "anyOf": [{"$ref": "#/$defs/A_2"}, {"$ref": "#/$defs/B"}, True],
        "default": {"$ref": "#/$defs/A"},
    }


def test_a_property_named_like_a_keyword_is_a_property() -> None:
    schema = {"properties": {"items": {"type": "string"}, "properties": {"type": "integer"}}}
    seen: list[Any] = []

    def note(part: dict[str, Any]) -> dict[str, Any]:
        seen.append(part.get("type"))
        return part

    assert map_schemas(schema, note) == schema
    assert seen == ["string", "integer", None]
