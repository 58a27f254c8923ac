from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import ToolError
from dovetail_graph.timestamps import EARLIEST, FOREVER, format_timestamp, parse_timestamp


@given(st.integers(EARLIEST + 1, FOREVER - 1))
def test_a_formatted_timestamp_parses_to_itself(timestamp: int) -> None:
    assert parse_timestamp(format_timestamp(timestamp), "t") == timestamp


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T02:00:00+02:00", 0),
        (1500, 1_500_000),
        (0.5, 500),
        (None, None),
    ],
)
def test_parse_timestamp(given: Any, expected: int | None) -> None:
    assert parse_timestamp(given, "t") == expected


@pytest.mark.parametrize("given", ["", "soon", "2025-13-01", "10000-01-01", 1e30, -1e30, math.nan])
def test_the_error_for_an_invalid_timestamp_names_the_argument(given: Any) -> None:
    with pytest.raises(ToolError, match="since must be a time"):
        parse_timestamp(given, "since")


def test_unbounded_timestamps_are_formatted_as_none() -> None:
    assert format_timestamp(EARLIEST) is None and format_timestamp(FOREVER) is None
