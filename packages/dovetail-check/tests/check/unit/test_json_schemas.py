from __future__ import annotations

from typing import Any

import pytest

from dovetail_check.json_schemas import dialect_of, schema_problems, validation_errors

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def test_a_schema_is_judged_by_its_own_dialect() -> None:
    flagged = {"type": "integer", "minimum": 1, "exclusiveMinimum": True}
    assert schema_problems(flagged)
    assert schema_problems({"$schema": DRAFT_4, **flagged}) == []
    assert validation_errors({"$schema": DRAFT_4, **flagged}, 1)
    assert validation_errors({"$schema": DRAFT_4, **flagged}, 2) == []


def test_a_problem_says_where_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "bogus"}}}
    [problem] = schema_problems(schema) or []
    assert "/properties/a/type" in problem
    assert "bogus" in problem


@pytest.mark.parametrize("schema", [None, [], "x", 5])
def test_a_schema_must_be_an_object(schema: Any) -> None:
    assert schema_problems(schema)
    assert validation_errors(schema, 1) is None


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
    assert validation_errors(schema, 1) is None


@pytest.mark.parametrize("ref", ["http://127.0.0.1:9/elsewhere.json", "#/nowhere"])
def test_a_reference_that_cannot_be_followed_leaves_it_open(ref: str) -> None:
    assert validation_errors({"$ref": ref}, 1) is None


def test_validation_errors_are_limited() -> None:
    schema = {"type": "object", "required": ["a", "b", "c", "d", "e"]}
    assert len(validation_errors(schema, {}) or []) == 3
    assert validation_errors(False, 1)
    assert validation_errors(True, 1) == []
