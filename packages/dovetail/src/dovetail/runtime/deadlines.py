"""Time limits that share one timer of the event loop.

A timer of its own, as `asyncio.timeout` has it, takes a tenth of the time of a short call, and
hardly any call reaches its limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import Iterator
from contextvars import ContextVar, Token
from typing import Protocol, Self

__all__ = [
    "Deadline",
    "Deadlines",
    "TaskDeadline",
    "current_deadlines",
    "pause_time_limits",
    "time_limit",
]


class Deadline(Protocol):
    """Something that is over at some time."""

    @property
    def due(self) -> float:
        """When, in the time of the event loop; infinite: not now."""

    def expire(self, now: float) -> None:
        """End it."""


class Deadlines:
    """The deadlines of one event loop, with a timer for the earliest."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._running: dict[Deadline, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = math.inf

    def add(self, deadline: Deadline) -> None:
        """Watch a deadline."""
        self._running[deadline] = None
        if deadline.due < self._fires_at:
            self._set_timer(deadline.due)

    def moved(self, deadline: Deadline) -> None:
        """Take note that a deadline may be due earlier."""
        if deadline in self._running and deadline.due < self._fires_at:
            self._set_timer(deadline.due)

    def remove(self, deadline: Deadline) -> None:
        """Watch a deadline no more."""
        self._running.pop(deadline, None)

    def _set_timer(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._fires_at = due
        self._timer = self.loop.call_at(due, self._fire)

    def _fire(self) -> None:
        self._timer, self._fires_at = None, math.inf
        now = self.loop.time()
        for deadline in tuple(self._running):
            if deadline.due <= now:
                # What has expired is not due again before it is moved.
                self.remove(deadline)
                deadline.expire(now)
        due = min((deadline.due for deadline in self._running), default=math.inf)
        if due < self._fires_at:
            self._set_timer(due)


class _Here(threading.local):
    deadlines: Deadlines | None = None


_here = _Here()


def current_deadlines() -> Deadlines:
    """The deadlines of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _here.deadlines
    if found is None or found.loop is not loop:
        # Those of another event loop of this thread are kept by its timer.
        found = _here.deadlines = Deadlines(loop)
    return found


class TaskDeadline:
    """Limits the time of a block, as `asyncio.timeout` does; the limit can be moved."""

    __slots__ = ("_all", "_cancelling", "_task", "due", "has_expired")

    def __init__(self, seconds: float | None) -> None:
        """`seconds`: from now; None or infinity: no limit."""
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._all = current_deadlines()
        self.due: float = math.inf if seconds is None else self._all.loop.time() + seconds
        self.has_expired: bool = False
        self._all.add(self)

    def left(self) -> float:
        """Seconds until it is due."""
        return self.due - self._all.loop.time()

    def move(self, seconds: float | None) -> None:
        """Set another time, from now, unless it has ended."""
        self.due = math.inf if seconds is None else self._all.loop.time() + seconds
        self._all.moved(self)

    def expire(self, now: float) -> None:
        """Cancel the task."""
        self.has_expired = True
        self._task.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the limit; raises TimeoutError if it is the only reason for a cancellation."""
        self._all.remove(self)
        # Its own cancellation is undone; one that remains came from outside.
        is_only_reason = self.has_expired and self._task.uncancel() <= self._cancelling
        if is_only_reason and kind is asyncio.CancelledError:
            raise TimeoutError from None


class time_limit(TaskDeadline):
    """Limits the time of a block that may wait for a login; infinity means no limit."""

    __slots__ = ("_token",)

    def __enter__(self) -> Self:
        self._token: Token[tuple[time_limit, ...]] = _running.set((*_running.get(), self))
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        _running.reset(self._token)
        super().__exit__(kind, *rest)


# The limits around the current code, the innermost last. A task that was started in a block may
# outlive it and still see the limit.
_running: ContextVar[tuple[time_limit, ...]] = ContextVar("time_limits", default=())


@contextlib.contextmanager
def pause_time_limits() -> Iterator[None]:
    """Stop the limits around the current code until the block ends.

    A request that waits for a login would otherwise end before the user has read the page.
    """
    paused = [(limit, limit.left()) for limit in _running.get() if limit.due < math.inf]
    for limit, _ in paused:
        limit.move(None)
    try:
        yield
    finally:
        for limit, rest in paused:
            limit.move(rest)
