"""Time limits of requests, which stop while a user logs in."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar, Token
from types import TracebackType

__all__ = ["pause_time_limits", "time_limit"]


class time_limit:
    """`asyncio.timeout`, where infinity means no limit, and which can be paused."""

    __slots__ = ("_timeout", "_token")

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(None if seconds == math.inf else seconds)
        self._token: Token[tuple[time_limit, ...]] | None = None

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._token = _running.set((*_running.get(), self))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        _running.reset(self._token)
        self._token = None
        await self._timeout.__aexit__(kind, error, traceback)

    @property
    def deadline(self) -> float | None:
        """When the limit ends the block; None if it does not, or has already."""
        # A task that was started in the block may outlive it and still see the limit.
        is_running = self._token is not None and not self._timeout.expired()
        return self._timeout.when() if is_running else None

    def move(self, deadline: float | None) -> None:
        """Change the deadline, if the block has not ended."""
        if self._token is not None and not self._timeout.expired():
            self._timeout.reschedule(deadline)


# The limits around the current code, the innermost last.
_running: ContextVar[tuple[time_limit, ...]] = ContextVar("time_limits", default=())


@contextlib.contextmanager
def pause_time_limits() -> Iterator[None]:
    """Stop the limits around the current code until the block ends.

    A request that waits for a login would otherwise end before the user has read the page.
    """
    now = asyncio.get_running_loop().time
    paused = [
        (limit, deadline - now())
        for limit in _running.get()
        if (deadline := limit.deadline) is not None
    ]
    for limit, _ in paused:
        limit.move(None)
    try:
        yield
    finally:
        for limit, rest in paused:
            limit.move(now() + rest)
