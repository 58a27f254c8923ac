from __future__ import annotations

import re

import pytest

from dovetail_check.text_patterns import UnknownPatternError, text_for


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z]+$",
        r"^[A-Z]{3}-\d{4}$",
        r"^(red|green|blue)$",
        r"^(?:v)?\d+\.\d+(?:\.\d+)?$",
        r"^[^a-z]{2,}$",
        r"^\u0041\x42$",
        r"^[\w.+-]+@[\w-]+\.[a-z]{2,}$",
        r"^\S+\s\S+?$",
        r"^[]$|x",
        r"^[\d\-]{1,3}$",
        r"^a{2}b{0}c*$",
        r"^{x}$",
        r"\bword\b",
        "",
    ],
)
@pytest.mark.parametrize("extra", [0, 1, 5])
def test_a_text_matches_its_pattern(pattern: str, extra: int) -> None:
    try:
        text = text_for(pattern, extra=extra, branch=1)
    except UnknownPatternError:
        assert pattern == r"^[]$|x"
        return
    assert re.search(pattern, text), text


def test_the_branch_picks_an_alternative() -> None:
    made = [text_for("^(red|green|blue)$", branch=n) for n in range(3)]
    assert made == ["red", "green", "blue"]


@pytest.mark.parametrize(
    "pattern", ["(?=x)", "(?<name>x)", r"\p{L}", r"(a)\1", "[a", "(a", "a)", "*", "a{99999}", "\\"]
)
def test_an_unsupported_pattern_is_rejected(pattern: str) -> None:
    with pytest.raises(UnknownPatternError):
        text_for(pattern)
