from __future__ import annotations

from dovetail_vault.lines import LineFinder
from dovetail_vault.patterns import compile_pattern


def test_only_the_first_matches_of_a_line_are_returned() -> None:
    pattern = compile_pattern(".", case_sensitive=False)
    [hit] = LineFinder([], pattern=pattern).find("x" * 20_000, 1)
    assert hit.spans[:2] == [(0, 1), (1, 2)] and len(hit.spans) == 100
    [first, second] = LineFinder(["x"]).find("x" * 20_000 + "\nyx", 1)
    assert len(first.spans) == 100
    assert (second.number, second.spans) == (1, [(1, 2)])


def test_every_matching_line_is_counted() -> None:
    pattern = compile_pattern("x", case_sensitive=False)
    text = "x\ny\n" * 20_000
    for finder in (LineFinder([], pattern=pattern), LineFinder(["x", "y"])):
        hits = finder.find(text, 1)
        assert len(hits) in (20_000, 40_000)
        assert [hit.number for hit in hits] == sorted({hit.number for hit in hits})
