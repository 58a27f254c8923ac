"""For handlers that call other services: try again, a few times, with growing pauses."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dovetail.errors import UsageError

__all__ = ["retry"]

T = TypeVar("T")


async def retry(
    function: Callable[[], Awaitable[T]],
    *,
    attempts: int = 3,
    pause: float = 0.2,
    longest_pause: float = 5.0,
    on: tuple[type[Exception], ...] = (OSError, TimeoutError),
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """What `function` returns, tried again where it raises one of `on`; the last error is raised.

    Only for what may be done twice. Pauses double, and are shortened at random so that many who
    failed together do not come back together.
    """
    if attempts < 1 or pause < 0 or longest_pause < 0:
        raise UsageError("retry needs attempts >= 1 and pauses that are not negative")
    for attempt in range(1, attempts):
        try:
            return await function()
        except on:
            length = min(longest_pause, pause * 2 ** (attempt - 1))
            await sleep(length * random.uniform(0.5, 1.0))
    return await function()
