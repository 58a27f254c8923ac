"""Limits on rates and on calls in flight for all processes of a cluster together.

While the shared store cannot be used, each process applies the limits on its own: it goes on
serving, and a caller who reaches all processes may make that many times as many calls.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, TypeAlias

from dovetail.auth.limits import Limits, RateLimiter, all_busy, caller_busy, over_rate
from dovetail.core.middleware import AnyMiddleware, CallNext, Request
from dovetail.errors import RateLimitError, StoreError
from dovetail.features.middleware import Middleware
from dovetail.runtime.rates import Rate
from dovetail.stores.shared_stores import OverLimit, RateBucket, RunningLimit, SharedRates

__all__ = ["SharedRateLimiter", "share_limits"]

logger: logging.Logger = logging.getLogger("dovetail")

# The name of the limit of running calls of all callers.
_ALL = "all"

# A bucket with the words for its error: the rate, and whose it is.
_Demand: TypeAlias = tuple[RateBucket, Rate, str]


def share_limits(
    middleware: Sequence[AnyMiddleware], rates: SharedRates
) -> tuple[AnyMiddleware, ...]:
    """Return the middleware, with limits that count the calls of all processes."""
    return tuple(
        SharedRateLimiter(each, rates) if isinstance(each, RateLimiter) else each
        for each in middleware
    )


class SharedRateLimiter(Middleware):
    """Middleware that enforces limits. A rejected call does not count against any limit."""

    def __init__(self, local: RateLimiter, rates: SharedRates) -> None:
        """`local` has the limits, and applies while `rates` cannot be used."""
        self._local = local
        self._limits = local.limits
        self._rates = rates
        self._is_local = False
        # The names of buckets contain the rate: another rate is another bucket.
        limits = self._limits
        self._own = (
            None if limits.per_principal is None else _prefix("caller", limits.per_principal)
        )
        self._tools = {
            name: _prefix(f"tool:{len(name)}:{name}", rate)
            for name, rate in limits.per_tool.items()
        }
        self._total = (
            None
            if limits.total is None
            else _demand(_prefix("all", limits.total), limits.total, "all callers together")
        )
        self._counts_running = not (limits.in_flight is None and limits.in_flight_total is None)

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        """Reject the request if it exceeds a limit."""
        principal = request.principal
        caller = "" if principal is None else principal.id
        demands = self._demands(request, caller)
        if demands or self._counts_running:
            await self._take(request, demands, _running(self._limits, caller))
        return await call_next(request)

    def _demands(self, request: Request[Any], caller: str) -> list[_Demand]:
        limits = self._limits
        demands: list[_Demand] = []
        if limits.per_principal is not None:
            demands.append(_demand(f"{self._own}{caller}", limits.per_principal, "each caller"))
        if limits.per_tool and request.method == "tools/call":
            name = request.target or ""
            rate = limits.per_tool.get(name)
            if rate is not None:
                bucket = f"{self._tools[name]}{caller}"
                demands.append(_demand(bucket, rate, f"each caller of {name!r}"))
        if self._total is not None:
            demands.append(self._total)
        return demands

    async def _take(
        self, request: Request[Any], demands: list[_Demand], running: list[RunningLimit]
    ) -> None:
        try:
            taken = await self._rates.take([bucket for bucket, _, _ in demands], running)
        except StoreError as error:
            if not self._is_local:
                self._is_local = True
                logger.warning("limits apply to each process on its own: %s", error)
            self._local.count(request)
            return
        self._is_local = False
        if isinstance(taken, OverLimit):
            raise _rejection(taken, demands, running)
        if running:
            request.add_done_callback(lambda _: self._rates.release(taken, running))


def _running(limits: Limits, caller: str) -> list[RunningLimit]:
    running = []
    if limits.in_flight is not None:
        running.append(RunningLimit(f"caller:{caller}", limits.in_flight))
    if limits.in_flight_total is not None:
        running.append(RunningLimit(_ALL, limits.in_flight_total))
    return running


def _rejection(
    over: OverLimit, demands: list[_Demand], running: list[RunningLimit]
) -> RateLimitError:
    if over.position < len(demands):
        _, rate, whose = demands[over.position]
        return over_rate(rate, whose, over.wait)
    reached = running[over.position - len(demands)]
    return all_busy(reached.limit) if reached.name == _ALL else caller_busy(reached.limit)


def _prefix(kind: str, rate: Rate) -> str:
    return f"{kind}:{rate.number:g}/{rate.per:g}/{rate.burst:g}:"


def _demand(name: str, rate: Rate, whose: str) -> _Demand:
    return RateBucket(name, rate.per_second, rate.burst), rate, whose
