"""Rate limits and limits of running calls of all processes together.

One step takes from all limits of a call, so a rejected call takes nothing. While the state cannot
be used, each process applies the limits on its own. A running call holds its place for some
seconds and keeps taking it again, so that the calls of a process that has died are forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, TypeAlias

from dovetail.auth.limits import Limits, RateLimiter, all_busy, caller_busy, over_rate
from dovetail.core.middleware import AnyMiddleware, CallNext, Request
from dovetail.errors import RateLimitError, StoreError
from dovetail.features.middleware import Middleware
from dovetail.runtime.rates import Rate
from dovetail.runtime.state import ServerState
from dovetail.state import Limit, Refusal

__all__ = ["SharedRateLimiter", "share_limits"]

logger: logging.Logger = logging.getLogger("dovetail")

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
        SharedRateLimiter(each, state) if isinstance(each, RateLimiter) else each
        for each in middleware
    )


class SharedRateLimiter(Middleware):
    """Middleware that enforces limits. A rejected call does not count against any limit."""

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
        self._keeping: asyncio.Task[None] | None = None
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
            if self._keeping is None or self._keeping.done():
                self._keeping = self._start(self._keep())

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

    async def _keep(self) -> None:
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
        return over_rate(rate, whose, refusal.wait)
    reached = running[refusal.position - len(demands)]
    if reached is running[-1] and limits.in_flight_total is not None:
        return all_busy(limits.in_flight_total)
    return caller_busy(limits.in_flight or 0)


def _demand(name: str, rate: Rate, whose: str) -> _Demand:
    return Limit(name, rate.burst, rate.per_second), rate, whose
