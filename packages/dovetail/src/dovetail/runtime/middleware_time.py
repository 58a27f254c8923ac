"""The time limit of middleware: a request must be answered even if a middleware never is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from dovetail.errors import LimitError

__all__ = ["MiddlewareTimeLimit"]


class MiddlewareTimeLimit:
    """Limits the time that the middleware of one call takes itself."""

    def __init__(self, seconds: float | None, method: str) -> None:
        """`seconds`: the limit, None for no limit."""
        self._seconds = seconds
        self._method = method
        self._timeout = asyncio.timeout(None)
        # Handlers that run now; a middleware may start several at the same time.
        self._paused = 0

    async def __aenter__(self) -> MiddlewareTimeLimit:
        await self._timeout.__aenter__()
        if self._seconds is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:
            # A TimeoutError of the middleware itself is not changed: it is not raised here.
            raise LimitError(
                f"A middleware exceeded the time limit of {self._seconds:g} s for {self._method}"
            ) from None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context in which the time does not count."""
        loop = asyncio.get_running_loop()
        due = self._timeout.when()
        left = None if due is None else due - loop.time()
        self._paused += 1
        self._timeout.reschedule(None)
        try:
            yield
        finally:
            self._paused -= 1
            if not self._paused and left is not None and not self._timeout.expired():
                self._timeout.reschedule(loop.time() + left)
