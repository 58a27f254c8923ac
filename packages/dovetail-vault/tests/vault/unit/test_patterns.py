from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_vault.patterns import compile_pattern


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        (r"\bfoo bar\b", ["foo", "bar"]),
        ("fooo?", ["foo"]),
        ("a|foo", []),
        ("(foo)?bar", ["bar"]),
        ("[abc]foo", []),
        ("foo{2}bar", ["fo"]),
        (r"foo\x41bar", ["foo"]),
        ("(?i)foo", []),
        (r"\.foo", ["foo"]),
    ],
)
def test_required_words_of_a_pattern(pattern: str, literals: list[str]) -> None:
    assert compile_pattern(pattern, case_sensitive=False).literals == literals


def test_matches_are_found_and_replaced() -> None:
    pattern = compile_pattern(r"(\w)x", case_sensitive=False)
    assert pattern.spans("ax BX", 9) == [(0, 2), (3, 5)]
    assert pattern.expand("ax BX", r"<\1\\>") == "<a\\> <B\\>"
    assert pattern.search("ax\udcff") and not pattern.search("y")


def test_patterns_that_need_backtracking_are_rejected() -> None:
    for pattern in (r"(a)\1", "(?=a)", "(", "x" * 2000):
        with pytest.raises(ToolError):
            compile_pattern(pattern, case_sensitive=True)
