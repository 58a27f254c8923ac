"""Retries and circuit breakers, for tools that call other services and for proxies.

`Retry` and `CircuitBreaker` are middleware, `retry` and `Breaker` for single calls in a handler.
A circuit breaker has three states:

closed ---- too many failures in a row ----> open
open ------ after `rest` seconds ----------> half-open
half-open - a trial succeeds --------------> closed
half-open - a trial fails -----------------> open
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Literal, TypeVar

from dovetail.core.middleware import CallNext, Request
from dovetail.errors import ToolError, TransportError, UpstreamError, UsageError
from dovetail.features.middleware import (
    CallTool,
    GetPrompt,
    Middleware,
    ReadResource,
)
from dovetail.features.tools import ToolResult
from dovetail.net.backoff import backoff
from dovetail.spec.models import GetPromptResult, ReadResourceResult

__all__ = ["Breaker", "BreakerState", "CircuitBreaker", "Retry", "retry"]

R = TypeVar("R")
T = TypeVar("T")

BreakerState = Literal["closed", "open", "half-open"]

_FAILURES = (OSError, TimeoutError, TransportError, UpstreamError)
# Names come from clients, and a circuit that never failed equals a new one.
_MOST_CIRCUITS = 1000


async def retry(
    function: Callable[[], Awaitable[T]],
    *,
    attempts: int = 3,
    pause: float = 0.2,
    longest_pause: float = 5.0,
    on: tuple[type[Exception], ...] = (OSError, TimeoutError),
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Call `function`, and retry if it raises one of `on`; the last error is raised.

    Use it only for calls that are safe to repeat. Pauses double each time, with random jitter, so
    that many clients do not retry at the same moment.
    """
    for seconds in islice(_pauses(attempts, pause, longest_pause), attempts - 1):
        try:
            return await function()
        except on:
            await sleep(seconds)
    return await function()


def _pauses(attempts: int, pause: float, longest_pause: float) -> Iterator[float]:
    if attempts < 1 or pause < 0 or longest_pause < 0:
        raise UsageError("retry needs attempts >= 1 and non-negative pauses")
    return backoff(pause, longest_pause)


class Retry(Middleware):
    """Middleware that repeats failed requests, with pauses that double each time.

    Only what is safe to repeat: prompts, resources, and tools that are annotated as read-only or
    idempotent, or those in `tools`. `on`: the exceptions that are worth another attempt.
    """

    def __init__(
        self,
        attempts: int = 3,
        *,
        pause: float = 0.2,
        longest_pause: float = 5.0,
        on: tuple[type[Exception], ...] = _FAILURES,
        tools: Collection[str] | None = None,
    ) -> None:
        # Wrong settings are reported here, not by the first request.
        _pauses(attempts, pause, longest_pause)
        self._retry_with: Any = partial(
            retry, attempts=attempts, pause=pause, longest_pause=longest_pause, on=on
        )
        self._tools = None if tools is None else frozenset(tools)

    async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        """Call a tool, several times if it may be repeated."""
        if not self._may_repeat(request):
            return await call_next(request)
        return await self._retry(request, call_next)

    async def get_prompt(
        self, request: GetPrompt, call_next: CallNext[GetPromptResult]
    ) -> GetPromptResult:
        """Get a prompt."""
        return await self._retry(request, call_next)

    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult]
    ) -> ReadResourceResult:
        """Read a resource."""
        return await self._retry(request, call_next)

    async def _retry(self, request: Request[R], call_next: CallNext[R]) -> R:
        result: R = await self._retry_with(lambda: call_next(request))
        return result

    def _may_repeat(self, request: CallTool) -> bool:
        if self._tools is not None:
            return request.name in self._tools
        tool = request.tool
        hints = None if tool is None else tool.annotations
        return hints is not None and True in (hints.read_only_hint, hints.idempotent_hint)


class Breaker:
    """A circuit breaker: use `async with breaker.guarding():` around each call of a service."""

    def __init__(
        self,
        name: str,
        *,
        failures: int = 5,
        rest: float = 30.0,
        trials: int = 1,
        counts: tuple[type[BaseException], ...] = (Exception,),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`failures`: failures in a row that open the breaker. `rest`: seconds until a trial.

        `trials`: concurrent trials while half-open. `counts`: exceptions that count as failures of
        the service.
        """
        if failures < 1 or trials < 1 or rest < 0:
            raise UsageError("Breaker needs failures >= 1, trials >= 1 and rest >= 0")
        self.name = name
        self._max_failures = failures
        self._rest = rest
        self._trials = trials
        self._counts = counts
        self._clock = clock
        self._failures = 0
        self._opened: float | None = None
        self._trying = 0

    @property
    def state(self) -> BreakerState:
        """The state of the circuit."""
        if self._opened is None:
            return "closed"
        return "half-open" if self._clock() - self._opened >= self._rest else "open"

    @property
    def has_failed(self) -> bool:
        """Whether the last call failed, or the circuit is not closed."""
        return self._failures > 0 or self._opened is not None

    @asynccontextmanager
    async def guarding(self) -> AsyncIterator[None]:
        """Wrap one call of the service; raises ToolError while the breaker is open."""
        state = self.state
        if state == "open" or (state == "half-open" and self._trying >= self._trials):
            assert self._opened is not None
            wait = max(0.0, self._rest - (self._clock() - self._opened))
            raise ToolError(f"{self.name} is unavailable; try again in {max(1, round(wait))} s")
        is_trial = state == "half-open"
        self._trying += is_trial
        try:
            yield
        except self._counts:
            self._failed(is_trial)
            raise
        else:
            self._succeeded(is_trial)
        finally:
            self._trying -= is_trial

    def _failed(self, is_trial: bool) -> None:
        self._failures += 1
        if is_trial or (self._opened is None and self._failures >= self._max_failures):
            self._opened = self._clock()

    def _succeeded(self, is_trial: bool) -> None:
        # A call that started before the service failed does not show that it works again.
        if is_trial or self._opened is None:
            self._failures = 0
            self._opened = None


class CircuitBreaker(Middleware):
    """Middleware that stops calling what keeps failing: the caller gets an error at once.

    Each tool, prompt and resource has its own circuit. With `group`, a function of the name, those
    with the same group share one: `group=lambda name: name.partition("_")[0]` for mounted proxies.
    `failures` in a row open a circuit; after `rest` seconds one request tries again.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        rest: float = 30.0,
        counts: tuple[type[Exception], ...] = _FAILURES,
        group: Callable[[str], str] = str,
    ) -> None:
        self._make = partial(Breaker, failures=failures, rest=rest, counts=counts)
        # Wrong settings are reported here, not by the first request.
        self._make("")
        self._group = group
        self._circuits: dict[str, Breaker] = {}

    async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        """Call a tool unless its circuit is open."""
        return await self._guard(request, call_next)

    async def get_prompt(
        self, request: GetPrompt, call_next: CallNext[GetPromptResult]
    ) -> GetPromptResult:
        """Get a prompt unless its circuit is open."""
        return await self._guard(request, call_next)

    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult]
    ) -> ReadResourceResult:
        """Read a resource unless its circuit is open."""
        return await self._guard(request, call_next)

    async def _guard(self, request: Request[R], call_next: CallNext[R]) -> R:
        async with self._circuit_of(self._group(request.target or "")).guarding():
            return await call_next(request)

    def _circuit_of(self, name: str) -> Breaker:
        circuit = self._circuits.get(name)
        if circuit is None:
            if len(self._circuits) >= _MOST_CIRCUITS:
                self._circuits = {
                    key: each for key, each in self._circuits.items() if each.has_failed
                }
            if len(self._circuits) >= _MOST_CIRCUITS:
                del self._circuits[next(iter(self._circuits))]
            circuit = self._circuits[name] = self._make(name)
        return circuit
