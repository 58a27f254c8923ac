"""Limits: separate for each caller; rejected calls do not count."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.auth import limits as module
from dovetail.auth.limits import Limits, RateLimiter
from dovetail.core.dispatch import MethodHandler
from dovetail.core.middleware import GuardChains, Request
from dovetail.core.principal import Principal
from dovetail.errors import RateLimitError, UsageError
from dovetail.runtime.rates import Rate
from tests.unit.auth.test_rates import Clock
from tests.unit.fakes import make_call


def call_by(name: str | None, method: str = "tools/call", tool: str = "t") -> Request[Any]:
    params = f'{{"name":"{tool}"}}'.encode() if method == "tools/call" else b"{}"
    call = make_call(method, params)
    call.principal = None if name is None else Principal(name)
    return GuardChains([], []).open(call, MethodHandler(lambda call: {}), "http")


class Desk:
    """A keeper of limits, and a clock that stands still."""

    def __init__(self, **limits: Any) -> None:
        self.clock = Clock()
        self.keeper = RateLimiter(Limits(**limits), self.clock)
        self.running: list[Request[Any]] = []

    def passes(self, name: str | None, **how: Any) -> bool:
        request = call_by(name, **how)
        try:
            self.keeper.count(request)
        except RateLimitError:
            return False
        self.running.append(request)
        return True

    def end(self, name: str) -> None:
        """End one of the calls of this caller."""
        found = next(each for each in self.running if each.principal == Principal(name))
        self.running.remove(found)
        found.end(b"{}")

    def count(self, name: str | None, offered: int = 100, **how: Any) -> int:
        return sum(self.passes(name, **how) for _ in range(offered))


def test_each_caller_has_its_own_rate() -> None:
    desk = Desk(per_principal=Rate(10, burst=3))
    assert desk.count("anna") == 3
    assert desk.count("bert") == 3
    assert desk.count(None) == 3
    desk.clock.now += 0.1
    assert desk.count("anna") == 1


def test_a_tool_may_have_its_own_rate() -> None:
    desk = Desk(per_tool={"t": Rate(1, burst=2)})
    assert desk.count("anna") == 2
    assert desk.count("bert") == 2
    assert desk.count("anna", tool="other") == 100
    assert desk.count("anna", method="tools/list") == 100


def test_rejected_calls_do_not_count() -> None:
    desk = Desk(per_principal=Rate(1, burst=3), total=Rate(1, burst=6))
    assert desk.count("anna", 5000) == 3
    assert desk.count("bert", 5000) == 3
    assert desk.count("carl") == 0
    # And the other way round: what the whole has no room for is not taken from the caller.
    desk.clock.now += 1
    assert desk.count("carl", 1) == 1


def test_the_error_says_which_limit_and_when_to_try_again() -> None:
    desk = Desk(per_principal=Rate(10, burst=1))
    desk.passes("anna")
    with pytest.raises(RateLimitError) as caught:
        desk.keeper.count(call_by("anna"))
    assert str(caught.value) == (
        "Too many calls: the limit is 10 per second for each caller. Try again in 0.1 s"
    )
    assert caught.value.retry_after == pytest.approx(0.1)
    assert caught.value.data == {"retryAfter": 0.1}


def test_calls_in_flight_are_counted_until_they_end() -> None:
    desk = Desk(in_flight=2, in_flight_total=3)
    assert desk.count("anna") == 2
    assert desk.count("bert") == 1
    desk.end("anna")
    assert desk.count("bert") == 1
    desk.end("bert")
    desk.end("bert")
    assert desk.count("anna") == 1
    # Nobody is remembered who has nothing in flight.
    desk.end("anna")
    desk.end("anna")
    assert desk.count("carl") == 2


def test_without_limits_nothing_is_rejected_or_counted() -> None:
    desk = Desk()
    assert desk.count("anna") == 100
    desk.end("anna")


def test_the_number_of_buckets_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_CALLERS", 10)
    desk = Desk(per_principal=Rate(1, burst=2))
    desk.count("busy", 2)
    for number in range(100):
        desk.clock.now += 0.001
        desk.passes(f"caller {number}")
        assert len(desk.keeper._callers) <= 10
    # Those who have been quiet for long go first.
    desk.clock.now += 100
    desk.count("late", 2)
    for number in range(8):
        desk.passes(f"another {number}")
    assert not desk.passes("late")


@pytest.mark.parametrize("name", ["in_flight", "in_flight_total", "max_result_bytes"])
def test_limits_must_be_at_least_one(name: str) -> None:
    given: dict[str, Any] = {name: 0}
    with pytest.raises(UsageError, match=name):
        Limits(**given)
