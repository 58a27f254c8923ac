from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import ToolError
from dovetail_vault.query_language import Term, describe, parse_query, positive_terms


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("a", "a"),
        ("a b", "(a AND b)"),
        ("a OR b c", "(a OR (b AND c))"),
        ("a AND b || c && d", "((a AND b) OR (c AND d))"),
        ("NOT a b", "(NOT a AND b)"),
        ("-a -b", "(NOT a AND NOT b)"),
        ("(a OR b) -(c d)", "((a OR b) AND NOT (c AND d))"),
        ('"a b" c"d e"', '("a b" AND c AND "d e")'),
        ('TITLE:"a b" tag:x', '(title:"a b" AND tag:x)'),
        ("http://x a:b", "(http://x AND a:b)"),
        ("well-known - x", '(well-known AND "-" AND x)'),
        (r'"say \"hi\" \\ \n"', r'"say \"hi\" \\ \\n"'),
        ("and or not", "(and AND or AND not)"),
    ],
)
def test_parsed_queries(query: str, meant: str) -> None:
    assert describe(parse_query(query)) == meant


@pytest.mark.parametrize(
    ("query", "place"),
    [("", 1), ("a AND", 6), ("(a", 1), ("a)", 2), ('a "b', 3), ("tag: x", 5), ("NOT", 4), ('""', 1),
     ("a OR OR b", 6), ("()", 2), ("(" * 60 + "a", 51), ("NOT " * 60 + "a", 201)],
)  # fmt: skip
def test_an_error_points_at_the_position(query: str, place: int) -> None:
    with pytest.raises(ToolError, match=f"at character {place}:") as caught:
        parse_query(query)
    *_, shown, caret = str(caught.value).split("\n")
    assert caret.strip() == "^" and len(caret) <= len(shown) + 1


def test_negated_terms_are_not_positive() -> None:
    found = positive_terms(parse_query("a NOT b (c OR -d)"))
    assert found == [Term("any", "a"), Term("any", "c")]


@given(st.text('ab ()"-|&ANDORT:\\', max_size=40))
def test_any_text_is_a_query_or_an_error(text: str) -> None:
    try:
        node = parse_query(text)
    except ToolError:
        return
    assert describe(parse_query(describe(node))) == describe(node)
