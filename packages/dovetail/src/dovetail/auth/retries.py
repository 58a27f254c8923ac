"""Retries with exponential backoff, for handlers that call other services."""

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
    """Call `function`, and retry if it raises one of `on`; the last error is raised.

    Use it only for calls that are safe to repeat. Pauses double each time, with random jitter, so
    that many clients do not retry at the same moment.
    """
    if attempts < 1 or pause < 0 or longest_pause < 0:
        raise UsageError("retry needs attempts >= 1 and non-negative pauses")
    for attempt in range(1, attempts):
        try:
            return await function()
        except on:
            length = min(longest_pause, pause * 2 ** (attempt - 1))
            await sleep(length * random.uniform(0.5, 1.0))
    return await function()
