"""Rates: a burst, then a steady rate."""

from __future__ import annotations

import pytest

from dovetail.errors import UsageError
from dovetail.runtime.rates import Bucket, Rate


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def drain(bucket: Bucket) -> int:
    taken = 0
    while not bucket.wait():
        bucket.take()
        taken += 1
    return taken


def test_a_bucket_allows_a_burst_and_then_its_rate() -> None:
    clock = Clock()
    bucket = Bucket(Rate(10, burst=5), clock)
    assert drain(bucket) == 5
    assert bucket.wait() == pytest.approx(0.1)
    clock.now += 0.1
    assert drain(bucket) == 1
    clock.now += 1000
    assert bucket.is_full
    assert drain(bucket) == 5
    assert not bucket.is_full


@pytest.mark.parametrize("number", [1, 7, 1000, 5000])
def test_the_long_term_rate_is_exact(number: int) -> None:
    clock = Clock()
    bucket = Bucket(Rate(number, burst=1), clock)
    drain(bucket)
    passed = 0
    for _ in range(100_000):
        clock.now += 0.0001
        passed += drain(bucket)
    assert abs(passed - number * 10) <= 1


@pytest.mark.parametrize(
    ("text", "per_second", "burst", "spoken"),
    [
        ("10/s", 10, 10, "10 per second"),
        ("60/min", 1, 10, "60 per minute"),
        ("6000/min", 100, 100, "6000 per minute"),
        ("3/h", 3 / 3600, 3, "3 per hour"),
        ("90/h burst 20", 0.025, 20, "90 per hour"),
        ("0.5/s", 0.5, 1, "0.5 per second"),
    ],
)
def test_rates_can_be_parsed(text: str, per_second: float, burst: float, spoken: str) -> None:
    rate = Rate.parse(text)
    assert (rate.per_second, rate.burst, str(rate)) == (per_second, burst, spoken)
    assert repr(Rate(6, per=7)) == "Rate(6, per=7, burst=6)"
    assert str(Rate(6, per=7)) == "6 per 7 seconds"


@pytest.mark.parametrize("text", ["", "10", "10/x", "-1/s", "10/s burst", "ten/s"])
def test_invalid_rates_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="like 10/s"):
        Rate.parse(text)


@pytest.mark.parametrize(
    ("number", "options"),
    [(0, {}), (-1, {}), (float("inf"), {}), (1, {"per": 0}), (1, {"burst": 0.5})],
)
def test_a_rate_must_be_positive(number: float, options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Rate(number, **options)
