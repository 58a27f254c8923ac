from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail_vault.bitsets import (
    add_planes,
    from_numbers,
    iterate,
    scale_planes,
    select_best,
)

SCORES = st.dictionaries(st.integers(0, 200), st.integers(0, 100))


def planes_of(scores: dict[int, int]) -> list[int]:
    return [
        from_numbers([number for number, score in scores.items() if score >> power & 1])
        for power in range(7)
    ]


@given(st.sets(st.integers(0, 1000)))
def test_iterate_returns_the_numbers_of_a_set_in_order(numbers: set[int]) -> None:
    assert list(iterate(from_numbers(list(numbers)))) == sorted(numbers)


@given(SCORES, SCORES, st.integers(1, 15), st.integers(0, 30))
def test_ranking_by_planes_is_ranking_by_numbers(
    one: dict[int, int], other: dict[int, int], factor: int, count: int
) -> None:
    among = one.keys() | other.keys()
    scores = {n: one.get(n, 0) + factor * other.get(n, 0) for n in among}
    planes = add_planes(planes_of(one), scale_planes(planes_of(other), factor))
    best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:count]
    assert select_best(from_numbers(list(among)), planes, count) == best
