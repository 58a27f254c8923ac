"""Time limits of requests, which stop while a user logs in."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar, Token
from typing import Self

from dovetail.runtime.deadlines import TaskDeadline

__all__ = ["pause_time_limits", "time_limit"]


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
