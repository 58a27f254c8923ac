"""Limits on call rates, on calls in flight, and on the size of results.

In a cluster they apply to all processes together. One step takes from all limits of a call, so a
rejected call takes nothing. While the state cannot be used, each process applies the limits on its
own. A running call holds its place for some seconds and keeps taking it again, so that the calls of
a process that has died are forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from dovetail.core.middleware import AnyMiddleware, CallNext, Request, transparent
from dovetail.errors import RateLimitError, StoreError, UsageError
from dovetail.features.middleware import Middleware
from dovetail.runtime.rates import Bucket, Rate
from dovetail.runtime.state import ServerState
from dovetail.state import Limit, Refusal

__all__ = [
    "Limits",
    "RateLimiter",
    "share_limits",
]

logger: logging.Logger = logging.getLogger("dovetail")

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
            raise _caller_busy(limits.in_flight)
        if limits.in_flight_total is not None and self._total_in_flight >= limits.in_flight_total:
            raise _all_busy(limits.in_flight_total)

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
        raise _over_rate(bucket.rate, whose, wait)


def _over_rate(rate: Rate, whose: str, wait: float) -> RateLimitError:
    """The error for a call that must wait for its rate."""
    return RateLimitError(
        f"Too many calls: the limit is {rate} for {whose}. Try again in {wait:.2g} s", wait
    )


def _caller_busy(limit: int) -> RateLimitError:
    """The error for a caller whose calls are still running."""
    return RateLimitError(
        f"Too many concurrent calls: {limit} of your calls are still running. "
        "Try again when one has finished",
        _RETRY_AFTER,
    )


def _all_busy(limit: int) -> RateLimitError:
    """The error for a call while those of all callers are still running."""
    return RateLimitError(
        f"The server is busy: {limit} calls are still running. Try again later", _RETRY_AFTER
    )


# Seconds for which a running call has its place, and between two times that it takes it again.
_HOLD = 10.0
_AGAIN = 3.0

# A limit with the words for its error: the rate, and whose it is.
_Demand: TypeAlias = tuple[Limit, Rate, str]


def share_limits(
    middleware: Sequence[AnyMiddleware], state: ServerState
) -> tuple[AnyMiddleware, ...]:
    """Return the middleware, with limits that count the calls of all processes."""
    return tuple(
        _SharedRateLimiter(each, state) if isinstance(each, RateLimiter) else each
        for each in middleware
    )


class _SharedRateLimiter(Middleware):
    """Middleware that enforces the limits over all processes of a cluster."""

    def __init__(self, local: RateLimiter, state: ServerState) -> None:
        """`local` has the limits, and applies while `state` cannot be used."""
        self._local = local
        self._limits = local.limits
        self._backend = state.backend
        self._is_local = False
        self._node = secrets.token_hex(6)
        self._numbers = count(1)
        # The limits that each running call has taken from, and when it last did so.
        self._running: dict[str, tuple[list[Limit], float]] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()
        # The names of limits contain the rate: another rate is another limit.
        limits = self._limits
        self._key = state.key("rate", "")
        self._own = (
            None if limits.per_principal is None else self._prefix("caller", limits.per_principal)
        )
        self._tools = {
            name: self._prefix(f"tool:{len(name)}:{name}", rate)
            for name, rate in limits.per_tool.items()
        }
        self._total = (
            None
            if limits.total is None
            else _demand(self._prefix("all", limits.total), limits.total, "all callers together")
        )

    def _prefix(self, kind: str, rate: Rate) -> str:
        return f"{self._key}{kind}:{rate.number:g}/{rate.per:g}/{rate.burst:g}:"

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        """Reject the request if it exceeds a limit."""
        principal = request.principal
        caller = "" if principal is None else principal.id
        demands, running = self._demands(request, caller), self._running_limits(caller)
        if demands or running:
            await self._take(request, demands, running)
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
                limit = f"{self._tools[name]}{caller}"
                demands.append(_demand(limit, rate, f"each caller of {name!r}"))
        if self._total is not None:
            demands.append(self._total)
        return demands

    def _running_limits(self, caller: str) -> list[Limit]:
        limits, running = self._limits, []
        if limits.in_flight is not None:
            running.append(Limit(f"{self._key}running:caller:{caller}", limits.in_flight))
        if limits.in_flight_total is not None:
            running.append(Limit(f"{self._key}running:all", limits.in_flight_total))
        return running

    async def _take(
        self, request: Request[Any], demands: list[_Demand], running: list[Limit]
    ) -> None:
        call = f"{self._node}/{next(self._numbers)}" if running else ""
        asked = [*(limit for limit, _, _ in demands), *running]
        try:
            refusal = await self._backend.take(asked, holder=call, ttl=_HOLD)
        except (StoreError, asyncio.CancelledError) as error:
            # Whether the call was counted is unknown.
            self._start(self._release(call, running))
            if isinstance(error, asyncio.CancelledError):
                raise
            if not self._is_local:
                self._is_local = True
                logger.warning("limits apply to each process on its own: %s", error)
            self._local.count(request)
            return
        self._is_local = False
        if refusal is not None:
            raise _rejection(refusal, demands, running, self._limits)
        if running:
            self._running[call] = running, asyncio.get_running_loop().time()
            if self._renewing is None or self._renewing.done():
                self._renewing = self._start(self._renew())

            def release(_: Request[Any]) -> None:
                self._start(self._release(call, running))

            request.add_done_callback(release)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)
        return task

    async def _release(self, call: str, running: list[Limit]) -> None:
        self._running.pop(call, None)
        # If that fails, the call loses its places when their time has passed.
        with suppress(StoreError):
            if running:
                await self._backend.give_back([limit.name for limit in running], call)

    async def _renew(self) -> None:
        """Take the places of long calls again, as long as there are calls."""
        while self._running:
            await asyncio.sleep(_AGAIN)
            before = asyncio.get_running_loop().time() - _AGAIN
            for call, (running, taken) in tuple(self._running.items()):
                if taken <= before and call in self._running:
                    with suppress(StoreError):
                        await self._backend.take(running, holder=call, ttl=_HOLD)
                    if call not in self._running:
                        # It ended meanwhile, and may have been released before it was taken.
                        await self._release(call, running)


def _rejection(
    refusal: Refusal, demands: list[_Demand], running: list[Limit], limits: Limits
) -> RateLimitError:
    if refusal.position < len(demands):
        _, rate, whose = demands[refusal.position]
        return _over_rate(rate, whose, refusal.wait)
    reached = running[refusal.position - len(demands)]
    if reached is running[-1] and limits.in_flight_total is not None:
        return _all_busy(limits.in_flight_total)
    return _caller_busy(limits.in_flight or 0)


def _demand(name: str, rate: Rate, whose: str) -> _Demand:
    return Limit(name, rate.burst, rate.per_second), rate, whose
