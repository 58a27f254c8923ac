"""A circuit breaker for handlers that call other services.

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
