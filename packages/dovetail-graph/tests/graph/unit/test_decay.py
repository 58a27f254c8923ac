from __future__ import annotations

import pytest

from dovetail_graph.decay import DAY, Decay


@pytest.mark.parametrize(("half_lives", "left"), [(0, 0.8), (1, 0.4), (2, 0.2), (3, 0.1), (9, 0.1)])
def test_confidence_halves_at_each_half_life_and_stops_at_the_floor(
    half_lives: int, left: float
) -> None:
    assert Decay().apply(0.8, 0, half_lives * 30 * DAY) == left


def test_a_type_may_have_a_half_life_of_its_own() -> None:
    decay = Decay(by_type={"prefers": 60})
    assert decay.apply(0.8, 0, 60 * DAY, "prefers") == 0.4
    assert decay.apply(0.8, 0, 60 * DAY, "knows") == 0.2


def test_confidence_below_the_floor_does_not_change() -> None:
    assert Decay().apply(0.05, 0, 0) == 0.05
    assert Decay().apply(0.05, 0, 300 * DAY) == 0.05


def test_there_is_no_decay_before_the_reinforcement() -> None:
    assert Decay().apply(0.8, 50 * DAY, 0) == 0.8


def test_decay_factor() -> None:
    assert Decay(factor=0.25).apply(0.8, 0, 30 * DAY) == 0.2
    assert Decay(factor=1.0).apply(0.8, 0, 3000 * DAY) == 0.8
