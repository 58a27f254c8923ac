"""For handlers that call other services: stop asking one that fails, and see when it is back.

closed ---- too many failures in a row ----> open
open ------ after `rest` seconds ----------> half-open
half-open - a trial succeeds --------------> closed
half-open - a trial fails -----------------> open
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Literal

from dovetail.errors import ToolError, UsageError

__all__ = ["Breaker", "BreakerState"]

BreakerState = Literal["closed", "open", "half-open"]


class Breaker:
    """`async with breaker.guarding():` around each call of a service."""

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
        """`counts`: what is a failure of the service; anything else says nothing of it.

        `trials`: how many may try at a time, once it has rested.
        """
        if failures < 1 or trials < 1 or rest < 0:
            raise UsageError("a breaker needs failures >= 1, trials >= 1 and rest >= 0")
        self.name = name
        self._most = failures
        self._rest = rest
        self._trials = trials
        self._counts = counts
        self._clock = clock
        self._failures = 0
        self._opened: float | None = None
        self._trying = 0

    @property
    def state(self) -> BreakerState:
        """Whether the service is asked."""
        if self._opened is None:
            return "closed"
        return "half-open" if self._clock() - self._opened >= self._rest else "open"

    @asynccontextmanager
    async def guarding(self) -> AsyncIterator[None]:
        """Around one call of the service; raises ToolError where it is not asked."""
        state = self.state
        if state == "open" or (state == "half-open" and self._trying >= self._trials):
            assert self._opened is not None
            wait = max(0.0, self._rest - (self._clock() - self._opened))
            raise ToolError(f"{self.name} does not answer; try again in {max(1, round(wait))} s")
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
        if is_trial or (self._opened is None and self._failures >= self._most):
            self._opened = self._clock()

    def _succeeded(self, is_trial: bool) -> None:
        # One that began before the service broke says nothing of how it is now.
        if is_trial or self._opened is None:
            self._failures = 0
            self._opened = None
