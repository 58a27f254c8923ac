from __future__ import annotations

from typing import Any

import pytest

from dovetail import ToolError
from dovetail_vault.property_filters import Condition, holds, parse_conditions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("due < 2026-12-01", [("due", "<", "2026-12-01")]),
        ("due<2026-12-01", [("due", "<", "2026-12-01")]),
        ("a=1 AND b != x y and c >= 2.5", [("a", "=", 1), ("b", "!=", "x y"), ("c", ">=", 2.5)]),
        ("a == true && b <= 3, c > 4", [("a", "=", True), ("b", "<=", 3), ("c", ">", 4)]),
        ('"due date" = "a AND b"', [("due date", "=", "a AND b")]),
        ("due date > 2026-01-01", [("due date", ">", "2026-01-01")]),
        ("land = x", [("land", "=", "x")]),
        ("", []),
    ],
)
def test_conditions_are_parsed(text: str, expected: list[tuple[str, str, Any]]) -> None:
    assert parse_conditions(text) == expected


@pytest.mark.parametrize("text", ["due", "due <", "< 3", "a = b = c", "a = 1 OR", "a ~ b", " "])
def test_other_texts_are_refused(text: str) -> None:
    if text == "a = 1 OR":
        # OR is a part of the value: there is only AND.
        assert parse_conditions(text) == [("a", "=", "1 OR")]
        return
    with pytest.raises(ToolError, match="Invalid condition at character"):
        parse_conditions(text)


@pytest.mark.parametrize(
    ("value", "operator", "wanted", "expected"),
    [
        ("2026-11-30", "<", "2026-12-01", True),
        ("2026-12-01T08:00", "=", "2026-12-01", True),
        ("2026-12-01T08:00", "<", "2026-12-01T09:00Z", True),
        ("[[2026-11-30]]", "<", "2026-12-01", True),
        ("soon", "<", "2026-12-01", False),
        (9, "<", 10, True),
        ("9", "<", 10, False),
        (True, "=", 1, False),
        (True, "=", True, True),
        ("Done", "=", "done", True),
        (["a", "B"], "=", "b", True),
        ([1, 20], ">", 10, True),
        (["a"], "=", ["a"], True),
        (None, "<", 5, False),
        ({"a": 1}, "=", {"a": 1}, True),
    ],
)
def test_values_are_compared_as_dates_numbers_or_texts(
    value: Any, operator: str, wanted: Any, expected: bool
) -> None:
    assert holds(Condition("k", operator, wanted), value) is expected
