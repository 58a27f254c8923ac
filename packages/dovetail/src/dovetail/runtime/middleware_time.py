"""The time limit of middleware: a request must be answered even if a middleware never is."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from dovetail.errors import LimitError
from dovetail.runtime.coroutines import resume_coroutine
from dovetail.runtime.deadlines import TaskDeadline

__all__ = ["MiddlewareTimeLimit"]

T = TypeVar("T")


class MiddlewareTimeLimit:
    """Limits the time that the middleware of one call takes itself.

    It is made when the middleware waits for something; most calls never do.
    """

    __slots__ = ("_left", "_limit", "_method", "_paused", "_seconds")

    def __init__(self, seconds: float | None, method: str, handlers_running: int) -> None:
        """`seconds`: the limit, None for no limit."""
        self._seconds = seconds
        self._method = method
        self._paused = handlers_running
        self._limit: TaskDeadline | None = None
        self._left = seconds or 0.0

    async def run(self, middleware: Coroutine[Any, Any, T], awaited: Any) -> T:
        """Await the rest of the middleware, which waits for `awaited`; may raise LimitError."""
        rest = resume_coroutine(middleware, awaited, middleware.send, middleware.throw)
        result: T
        if self._seconds is None:
            result = await rest
            return result
        limit = self._limit = TaskDeadline(None if self._paused else self._left)
        try:
            with limit:
                result = await rest
                return result
        except TimeoutError:
            if not limit.has_expired:
                raise
            raise LimitError(
                f"A middleware exceeded the time limit of {self._seconds:g} s for {self._method}"
            ) from None

    def pause(self) -> None:
        """Stop counting the time, because a handler runs."""
        self._paused += 1
        if self._limit is not None and self._paused == 1:
            self._left = self._limit.left()
            self._limit.move(None)

    def resume(self) -> None:
        """Count the time again."""
        self._paused -= 1
        if self._limit is not None and not self._paused:
            self._limit.move(self._left)
