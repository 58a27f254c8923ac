from __future__ import annotations

import msgspec

from dovetail_serverkit.tool_descriptions import (
    CHANGES,
    DESTROYS,
    EDITS,
    READS,
    SETS,
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


def test_each_annotation_has_its_own_hints() -> None:
    assert READS.read_only_hint and not READS.open_world_hint
    changing = [
        (each.destructive_hint, each.idempotent_hint) for each in (CHANGES, SETS, EDITS, DESTROYS)
    ]
    assert changing == [(False, False), (False, True), (True, False), (True, True)]
