"""Differences by line, also of texts too long to be aligned."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.line_diff import compare_lines

LINES = st.lists(st.sampled_from("abcde"), max_size=30).map("\n".join)


def test_equal_texts_have_no_difference() -> None:
    assert compare_lines("a\nb", "a\nb") == ("", 0, 0)


def test_a_change_is_shown_with_the_line_around_it() -> None:
    before = "\n".join("abcdefg")
    assert compare_lines(before, before.replace("d", "x")) == ("@@\n c\n-d\n+x\n e", 1, 1)


def test_very_long_texts_are_compared_without_order() -> None:
    before = [f"line {number}" for number in range(3_000)]
    after = [*before[1:1_500], "new", *before[1_500:-1], "last"]
    text, added, removed = compare_lines("\n".join(before), "\n".join(after))
    assert (added, removed) == (2, 2)
    assert text.splitlines() == ["-line 0", "-line 2999", "+new", "+last"]


@given(LINES, LINES)
def test_the_counts_explain_the_difference_in_length(before: str, after: str) -> None:
    _, added, removed = compare_lines(before, after)
    assert len(after.splitlines()) - len(before.splitlines()) == added - removed
    assert (added + removed == 0) == (before.splitlines() == after.splitlines())
