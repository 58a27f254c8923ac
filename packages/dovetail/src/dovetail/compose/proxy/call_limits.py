"""Time limits of calls at the upstream, which share one timer.

A timer of its own, as `asyncio.timeout` has it, takes a fiftieth of the time of a short call, and
hardly any call reaches its limit.
"""

from __future__ import annotations

import asyncio
import math

__all__ = ["CallLimit", "CallLimits"]


class CallLimit:
    """The time limit of one call."""

    __slots__ = ("_cancelling", "_limits", "_task", "deadline", "has_expired")

    def __init__(self, limits: CallLimits, task: asyncio.Task[object], deadline: float) -> None:
        self._limits = limits
        self._task = task
        self._cancelling = task.cancelling()
        # In the time of the event loop; infinity: none.
        self.deadline: float = deadline
        self.has_expired: bool = False

    def move(self, deadline: float) -> None:
        """Set another deadline."""
        self.deadline = deadline
        self._limits.watch(deadline)

    def expire(self) -> None:
        """Cancel the task of the call."""
        self.has_expired = True
        self._task.cancel()

    def take_cancellation(self) -> bool:
        """Return True if only this limit cancelled the task; removes the cancellation."""
        return self.has_expired and self._task.uncancel() <= self._cancelling


class CallLimits:
    """The time limits of all running calls."""

    def __init__(self) -> None:
        self._running: dict[CallLimit, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = math.inf
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, seconds: float | None) -> CallLimit:
        """Limit the current task until `end`."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        assert task is not None
        if loop is not self._loop:
            # The timer of another event loop does not run.
            self.close()
            self._loop = loop
        deadline = math.inf if seconds is None else loop.time() + seconds
        limit = CallLimit(self, task, deadline)
        self._running[limit] = None
        if deadline < self._due:
            self.watch(deadline)
        return limit

    def end(self, limit: CallLimit) -> None:
        """Limit a call no more."""
        del self._running[limit]

    def watch(self, deadline: float) -> None:
        """Check the limits at this time, or before."""
        if deadline >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = deadline
        self._timer = asyncio.get_running_loop().call_at(deadline, self._check)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._due = None, math.inf

    def _check(self) -> None:
        self._timer, self._due = None, math.inf
        now = asyncio.get_running_loop().time()
        for limit in tuple(self._running):
            if limit.deadline <= now and not limit.has_expired:
                limit.expire()
        left = [each.deadline for each in self._running if not each.has_expired]
        self.watch(min(left, default=math.inf))
