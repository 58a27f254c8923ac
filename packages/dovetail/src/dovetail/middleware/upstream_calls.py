"""`Retry` and `CircuitBreaker`: for tools that call other services, and for proxies."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TypeVar

from dovetail.auth.breaker import Breaker
from dovetail.auth.retries import retry
from dovetail.core.middleware import CallNext, Request
from dovetail.errors import TransportError, UpstreamError, UsageError
from dovetail.features.middleware import (
    CallTool,
    GetPrompt,
    Middleware,
    ReadResource,
)
from dovetail.features.tools import ToolResult
from dovetail.spec.models import GetPromptResult, ReadResourceResult

__all__ = ["CircuitBreaker", "Retry"]

R = TypeVar("R")

_FAILURES = (OSError, TimeoutError, TransportError, UpstreamError)
# Names come from clients, and a circuit that never failed equals a new one.
_MOST_CIRCUITS = 1000


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
        if attempts < 1 or pause < 0 or longest_pause < 0:
            raise UsageError("Retry needs attempts >= 1 and non-negative pauses")
        self._attempts = attempts
        self._pause = pause
        self._longest_pause = longest_pause
        self._on = on
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
        return await retry(
            lambda: call_next(request),
            attempts=self._attempts,
            pause=self._pause,
            longest_pause=self._longest_pause,
            on=self._on,
        )

    def _may_repeat(self, request: CallTool) -> bool:
        if self._tools is not None:
            return request.name in self._tools
        tool = request.tool
        hints = None if tool is None else tool.annotations
        return hints is not None and True in (hints.read_only_hint, hints.idempotent_hint)


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
