from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import ToolError
from dovetail_graph.moments import FOREVER, LONG_AGO, read_moment, show_moment


@given(st.integers(LONG_AGO + 1, FOREVER - 1))
def test_a_moment_that_is_shown_leads_back_to_itself(moment: int) -> None:
    assert read_moment(show_moment(moment), "t") == moment


@pytest.mark.parametrize(
    ("given", "moment"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T02:00:00+02:00", 0),
        (1500, 1_500_000),
        (0.5, 500),
        (None, None),
    ],
)
def test_times_are_read(given: Any, moment: int | None) -> None:
    assert read_moment(given, "t") == moment


@pytest.mark.parametrize("given", ["", "soon", "2025-13-01", "10000-01-01", 1e30, -1e30, math.nan])
def test_what_is_no_time_is_refused_by_name(given: Any) -> None:
    with pytest.raises(ToolError, match="since must be a time"):
        read_moment(given, "since")


def test_the_ends_of_time_are_not_shown() -> None:
    assert show_moment(LONG_AGO) is None and show_moment(FOREVER) is None
