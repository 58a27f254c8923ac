from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dovetail_design.bounding import bound
from dovetail_serverkit.answer_size import answer_size


class Result(msgspec.Struct):
    name: str
    items: list[Any]


def test_what_fits_stays() -> None:
    result = Result("a", [1, 2])
    assert bound(result, 1_000) is result


@given(st.text(max_size=3_000), st.lists(st.text(max_size=300), max_size=60))
def test_everything_is_cut_to_the_bound_and_says_so(name: str, items: list[str]) -> None:
    result = Result(name, items)
    shown = bound(result, 2_000)
    assert answer_size(shown) <= 2_000
    assert shown is result or shown["shortened"]
