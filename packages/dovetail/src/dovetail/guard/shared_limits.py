"""Limits on rates and on calls in flight for all processes of a cluster together.

While the shared store cannot be used, each process applies the limits on its own: it goes on
serving, and a caller who reaches all processes may make that many times as many calls.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Sequence
from typing import TypeAlias

from dovetail.core.hooks import Hook, HookedCall
from dovetail.errors import RateLimitError, StoreError
from dovetail.guard.limits import Limits, RateLimiter, all_busy, caller_busy, over_rate
from dovetail.guard.rates import Rate
from dovetail.stores.shared_stores import OverLimit, RateBucket, RunningLimit, SharedRates

__all__ = ["SharedRateLimiter", "share_limits"]

logger = logging.getLogger("dovetail")

# The name of the limit of running calls of all callers.
_ALL = "all"

# A bucket with the words for its error: the rate, and whose it is.
_Demand: TypeAlias = tuple[RateBucket, Rate, str]


def share_limits(hooks: Sequence[Hook], rates: SharedRates) -> tuple[Hook, ...]:
    """Return the hooks, with limits that count the calls of all processes."""
    return tuple(
        SharedRateLimiter(hook, rates) if isinstance(hook, RateLimiter) else hook for hook in hooks
    )


class SharedRateLimiter(Hook):
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

    def before(self, call: HookedCall) -> Awaitable[None] | None:
        """Reject the call if it exceeds a limit."""
        principal = call.principal
        caller = "" if principal is None else principal.id
        demands = self._demands(call, caller)
        if not (demands or self._counts_running):
            return None
        return self._take(call, demands, _running(self._limits, caller))

    def _demands(self, call: HookedCall, caller: str) -> list[_Demand]:
        limits = self._limits
        demands: list[_Demand] = []
        if limits.per_principal is not None:
            demands.append(_demand(f"{self._own}{caller}", limits.per_principal, "each caller"))
        if limits.per_tool and call.method == "tools/call":
            name = call.name or ""
            rate = limits.per_tool.get(name)
            if rate is not None:
                bucket = f"{self._tools[name]}{caller}"
                demands.append(_demand(bucket, rate, f"each caller of {name!r}"))
        if self._total is not None:
            demands.append(self._total)
        return demands

    async def _take(
        self, call: HookedCall, demands: list[_Demand], running: list[RunningLimit]
    ) -> None:
        try:
            taken = await self._rates.take([bucket for bucket, _, _ in demands], running)
        except StoreError as error:
            if not self._is_local:
                self._is_local = True
                logger.warning("limits apply to each process on its own: %s", error)
            self._local.before(call)
            return
        self._is_local = False
        if isinstance(taken, OverLimit):
            raise _rejection(taken, demands, running)
        if running:
            call.notes[self] = taken, running

    def after(self, call: HookedCall) -> None:
        """Count the call as finished."""
        if not self._counts_running:
            return
        taken = call.notes.pop(self, None)
        if taken is None:
            self._local.after(call)
        else:
            self._rates.release(*taken)


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
