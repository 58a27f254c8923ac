"""How much: rates for each caller, each tool and all together, calls in flight, size of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from dovetail.core.hooks import Hook, HookedCall
from dovetail.errors import RateLimitError, UsageError
from dovetail.guard.rates import Bucket, Rate

__all__ = ["LimitKeeper", "Limits"]

K = TypeVar("K")

# Callers whose buckets are kept; those of callers who have been quiet go first.
_MOST_CALLERS = 10_000
# When the next call in flight may be over, nobody knows.
_SOON = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What callers may use up; None is no limit."""

    # For each caller; those that nobody knows share one.
    per_principal: Rate | None = None
    # For each caller of a tool.
    per_tool: Mapping[str, Rate] = field(default_factory=dict)
    # For all callers together.
    total: Rate | None = None
    # Calls that are not answered yet: of one caller, and of all.
    in_flight: int | None = None
    in_flight_total: int | None = None
    # Bytes of one result.
    max_result_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("in_flight", "in_flight_total", "max_result_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"Limits.{name} must be at least 1 or None, got {value}")


class LimitKeeper(Hook):
    """Keeps the limits. One that is refused anything has taken nothing from the others."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._total = None if limits.total is None else Bucket(limits.total, clock)
        self._callers: dict[str, Bucket] = {}
        self._tools: dict[tuple[str, str], Bucket] = {}
        self._flying: dict[str, int] = {}
        self._all_flying = 0
        self._counts_flying = not (limits.in_flight is None and limits.in_flight_total is None)

    def before(self, call: HookedCall) -> None:
        """Refuse what is too much."""
        principal = call.principal
        caller = "" if principal is None else principal.id
        limits = self._limits
        if self._counts_flying:
            self._check_flying(caller)
        own = tool = None
        if limits.per_principal is not None:
            own = self._callers.get(caller)
            if own is None:
                own = self._new_bucket(self._callers, caller, limits.per_principal)
            _check(own, "each caller")
        if limits.per_tool and call.method == "tools/call":
            name = call.name or ""
            rate = limits.per_tool.get(name)
            if rate is not None:
                key = (caller, name)
                tool = self._tools.get(key) or self._new_bucket(self._tools, key, rate)
                _check(tool, f"each caller of {name!r}")
        # Last, and nothing is taken before: who is refused must not use up what others may have.
        if self._total is not None:
            _check(self._total, "all callers together")
            self._total.take()
        if own is not None:
            own.take()
        if tool is not None:
            tool.take()
        if self._counts_flying:
            self._flying[caller] = self._flying.get(caller, 0) + 1
            self._all_flying += 1

    def after(self, call: HookedCall) -> None:
        """One call less in flight."""
        if not self._counts_flying:
            return
        caller = "" if call.principal is None else call.principal.id
        self._all_flying -= 1
        left = self._flying[caller] - 1
        if left:
            self._flying[caller] = left
        else:
            del self._flying[caller]

    def _check_flying(self, caller: str) -> None:
        limits = self._limits
        if limits.in_flight is not None and self._flying.get(caller, 0) >= limits.in_flight:
            raise RateLimitError(
                f"Too many calls at a time: {limits.in_flight} of yours are not answered yet. Try "
                "again when one is",
                _SOON,
            )
        if limits.in_flight_total is not None and self._all_flying >= limits.in_flight_total:
            raise RateLimitError(
                f"The server is busy: {limits.in_flight_total} calls are not answered yet. Try "
                "again later",
                _SOON,
            )

    def _new_bucket(self, buckets: dict[K, Bucket], key: K, rate: Rate) -> Bucket:
        if len(buckets) >= _MOST_CALLERS:
            _forget_the_quiet(buckets)
        bucket = buckets[key] = Bucket(rate, self._clock)
        return bucket


def _forget_the_quiet(buckets: dict[K, Bucket]) -> None:
    """Full buckets are as good as new ones; if there are none, those made first go."""
    for key in [key for key, bucket in buckets.items() if bucket.is_full]:
        del buckets[key]
    surplus = max(0, len(buckets) - _MOST_CALLERS // 2)
    for key in list(buckets)[:surplus]:
        del buckets[key]


def _check(bucket: Bucket, whose: str) -> None:
    wait = bucket.wait()
    if wait:
        raise RateLimitError(
            f"Too many calls: the limit is {bucket.rate} for {whose}. Try again in {wait:.2g} s",
            wait,
        )
