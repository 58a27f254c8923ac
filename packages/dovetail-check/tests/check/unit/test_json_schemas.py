from __future__ import annotations

from typing import Any

import pytest

from dovetail_check.json_schemas import dialect_of, misfits, schema_problems

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def test_a_schema_is_judged_by_its_own_dialect() -> None:
    flagged = {"type": "integer", "minimum": 1, "exclusiveMinimum": True}
    assert schema_problems(flagged)
    assert schema_problems({"$schema": DRAFT_4, **flagged}) == []
    assert misfits({"$schema": DRAFT_4, **flagged}, 1)
    assert misfits({"$schema": DRAFT_4, **flagged}, 2) == []


def test_a_problem_says_where_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "bogus"}}}
    [problem] = schema_problems(schema) or []
    assert "/properties/a/type" in problem
    assert "bogus" in problem


@pytest.mark.parametrize("schema", [None, [], "x", 5])
def test_what_is_no_object_is_no_schema(schema: Any) -> None:
    assert schema_problems(schema)
    assert misfits(schema, 1) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://127.0.0.1:9/own-dialect"},
        {"$schema": 5},
        {"$schema": ["x"]},
    ],
)
def test_an_unknown_dialect_is_no_problem_and_no_answer(schema: Any) -> None:
    assert dialect_of(schema) is None
    assert schema_problems(schema) is None
    assert misfits(schema, 1) is None


@pytest.mark.parametrize("ref", ["http://127.0.0.1:9/elsewhere.json", "#/nowhere"])
def test_a_reference_that_cannot_be_followed_leaves_it_open(ref: str) -> None:
    assert misfits({"$ref": ref}, 1) is None


def test_misfits_are_few_and_said() -> None:
    schema = {"type": "object", "required": ["a", "b", "c", "d", "e"]}
    assert len(misfits(schema, {}) or []) == 3
    assert misfits(False, 1)
    assert misfits(True, 1) == []
