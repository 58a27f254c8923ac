from __future__ import annotations

import msgspec

from dovetail_serverkit.tool_descriptions import (
    CHANGES,
    DESTROYS,
    EDITS,
    READS,
    SETS,
    describe,
    schema_of,
)


class Wood(msgspec.Struct):
    name: str


class Forest(msgspec.Struct):
    trees: list[Wood]


def test_the_root_of_a_schema_is_the_object_itself() -> None:
    assert schema_of(Wood)["properties"] == {"name": {"type": "string"}}
    nested = schema_of(Forest)
    assert nested["type"] == "object" and list(nested["$defs"]) == ["Wood"]


def test_a_description_ends_with_the_example_and_has_a_schema_if_there_is_a_result() -> None:
    described = describe("fell_tree", "Fell a tree.", DESTROYS, Wood, {"name": "oak"})
    assert described["title"] == "Fell tree"
    assert described["description"] == 'Fell a tree.\n\nExample: {"name":"oak"}'
    assert described["output_schema"] == schema_of(Wood)
    assert "output_schema" not in describe("look", "Look.", READS, None, {})


def test_each_annotation_has_its_own_hints() -> None:
    assert READS.read_only_hint and not READS.open_world_hint
    changing = [
        (each.destructive_hint, each.idempotent_hint) for each in (CHANGES, SETS, EDITS, DESTROYS)
    ]
    assert changing == [(False, False), (False, True), (True, False), (True, True)]
