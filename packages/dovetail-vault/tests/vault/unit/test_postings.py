from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from dovetail_vault.bitsets import from_numbers
from dovetail_vault.postings import (
    LEVEL_BITS,
    decode_postings,
    encode_postings,
    level_of,
    weight_of,
)


@given(st.dictionaries(st.integers(0, 299), st.integers(1, 7), min_size=1), st.integers(0, 100))
def test_postings_round_trip(levels: dict[int, int], first: int) -> None:
    packed = array("I", sorted(n << LEVEL_BITS | level for n, level in levels.items()))
    planes = [0, 0, 0]
    decode_postings(encode_postings(packed, 300), first, planes)
    for power in range(LEVEL_BITS):
        wanted = [first + n for n, level in levels.items() if level >> power & 1]
        assert planes[power] == from_numbers(wanted)


def test_levels_and_weights() -> None:
    assert level_of(1, 250, False) < level_of(5, 250, False)
    assert level_of(1, 1000, False) <= level_of(1, 100, False)
    assert level_of(1, 250, True) > level_of(1, 250, False)
    assert level_of(1, 10**6, False) >= 1 and level_of(10**6, 1, True) == 7
    assert weight_of(1, 1000) > weight_of(1000, 1000) >= 1
