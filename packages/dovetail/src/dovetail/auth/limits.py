"""Limits on call rates, on calls in flight, and on the size of results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

from dovetail.core.middleware import CallNext, Request, transparent
from dovetail.errors import RateLimitError, UsageError
from dovetail.runtime.rates import Bucket, Rate

__all__ = ["Limits", "RateLimiter", "all_busy", "caller_busy", "over_rate"]

K = TypeVar("K")

# Callers with a bucket; full buckets are dropped first.
_MAX_CALLERS = 10_000
# Seconds to suggest for a retry; when a running call will end is unknown.
_RETRY_AFTER = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a guard; None means no limit."""

    # For each caller; anonymous callers share one.
    per_principal: Rate | None = None
    # For each caller and tool.
    per_tool: Mapping[str, Rate] = field(default_factory=dict)
    # For all callers together.
    total: Rate | None = None
    # Concurrent calls: of one caller, and of all callers.
    in_flight: int | None = None
    in_flight_total: int | None = None
    # Maximum size of one result in bytes.
    max_result_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("in_flight", "in_flight_total", "max_result_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"Limits.{name} must be at least 1 or None, got {value}")


class RateLimiter:
    """Middleware that enforces limits. A rejected call does not count against any limit."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = monotonic) -> None:
        self.limits = limits
        self._clock = clock
        self._total = None if limits.total is None else Bucket(limits.total, clock)
        self._callers: dict[str, Bucket] = {}
        self._tools: dict[tuple[str, str], Bucket] = {}
        self._in_flight: dict[str, int] = {}
        self._total_in_flight = 0
        self._counts_in_flight = not (limits.in_flight is None and limits.in_flight_total is None)

    @transparent
    def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Awaitable[Any]:
        """Reject the request if it exceeds a limit."""
        self.count(request)
        return call_next(request)

    def count(self, request: Request[Any]) -> None:
        """Count a request until it has ended; raises RateLimitError if it exceeds a limit."""
        principal = request.principal
        caller = "" if principal is None else principal.id
        limits = self.limits
        if self._counts_in_flight:
            self._check_in_flight(caller)
        own = tool = None
        if limits.per_principal is not None:
            own = self._callers.get(caller)
            if own is None:
                own = self._new_bucket(self._callers, caller, limits.per_principal)
            _check(own, "each caller")
        if limits.per_tool and request.method == "tools/call":
            name = request.target or ""
            rate = limits.per_tool.get(name)
            if rate is not None:
                key = (caller, name)
                tool = self._tools.get(key) or self._new_bucket(self._tools, key, rate)
                _check(tool, f"each caller of {name!r}")
        # Checked last, before any bucket is decremented: a rejected call must not use up limits.
        if self._total is not None:
            _check(self._total, "all callers together")
            self._total.take()
        if own is not None:
            own.take()
        if tool is not None:
            tool.take()
        if self._counts_in_flight:
            self._in_flight[caller] = self._in_flight.get(caller, 0) + 1
            self._total_in_flight += 1
            request.add_done_callback(self._release)

    def _release(self, request: Request[Any]) -> None:
        caller = "" if request.principal is None else request.principal.id
        self._total_in_flight -= 1
        left = self._in_flight[caller] - 1
        if left:
            self._in_flight[caller] = left
        else:
            del self._in_flight[caller]

    def _check_in_flight(self, caller: str) -> None:
        limits = self.limits
        if limits.in_flight is not None and self._in_flight.get(caller, 0) >= limits.in_flight:
            raise caller_busy(limits.in_flight)
        if limits.in_flight_total is not None and self._total_in_flight >= limits.in_flight_total:
            raise all_busy(limits.in_flight_total)

    def _new_bucket(self, buckets: dict[K, Bucket], key: K, rate: Rate) -> Bucket:
        if len(buckets) >= _MAX_CALLERS:
            _drop_buckets(buckets)
        bucket = buckets[key] = Bucket(rate, self._clock)
        return bucket


def _drop_buckets(buckets: dict[K, Bucket]) -> None:
    """Drop full buckets, which equal new ones, and then the oldest beyond half of the maximum."""
    for key in [key for key, bucket in buckets.items() if bucket.is_full]:
        del buckets[key]
    surplus = max(0, len(buckets) - _MAX_CALLERS // 2)
    for key in list(buckets)[:surplus]:
        del buckets[key]


def _check(bucket: Bucket, whose: str) -> None:
    wait = bucket.wait()
    if wait:
        raise over_rate(bucket.rate, whose, wait)


def over_rate(rate: Rate, whose: str, wait: float) -> RateLimitError:
    """The error for a call that must wait for its rate."""
    return RateLimitError(
        f"Too many calls: the limit is {rate} for {whose}. Try again in {wait:.2g} s", wait
    )


def caller_busy(limit: int) -> RateLimitError:
    """The error for a caller whose calls are still running."""
    return RateLimitError(
        f"Too many concurrent calls: {limit} of your calls are still running. "
        "Try again when one has finished",
        _RETRY_AFTER,
    )


def all_busy(limit: int) -> RateLimitError:
    """The error for a call while those of all callers are still running."""
    return RateLimitError(
        f"The server is busy: {limit} calls are still running. Try again later", _RETRY_AFTER
    )
