"""Rules: the first one that matches decides."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.errors import UsageError
from dovetail_openapi.operations import Rule, choose


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Rule(to="exclude"), "exclude"),
        (Rule(to="exclude", methods=["get"]), "exclude"),
        (Rule(to="exclude", methods=["POST"]), "tool"),
        (Rule(to="exclude", paths=["/admin/*"]), "exclude"),
        (Rule(to="exclude", paths=["/admin"]), "tool"),
        (Rule(to="exclude", tags=["users", "x"]), "exclude"),
        (Rule(to="exclude", operations=["list*"]), "exclude"),
        (Rule(to="exclude", operations=["list*"], methods=["POST"]), "tool"),
    ],
)
def test_a_rule_needs_all_its_conditions(rule: Rule, expected: str) -> None:
    assert choose([rule], "get", "/admin/users/{id}", ["users"], "listUsers") == expected


def test_the_first_rule_decides() -> None:
    rules = [Rule(to="resource", methods=["GET"]), Rule(to="exclude")]
    assert choose(rules, "get", "/a", [], "") == "resource"
    assert choose(rules, "post", "/a", [], "") == "exclude"


@pytest.mark.parametrize("wrong", [{"to": "tools"}, {"to": "tool", "paths": "/a"}])
def test_a_wrong_rule_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="Rule: "):
        Rule(**wrong)
