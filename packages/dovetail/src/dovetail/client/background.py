"""Tasks nobody awaits, kept alive and never lost in silence.

A callback of the user's may raise anything; what it raises goes to the event loop's
exception handler instead of ending the stream it was called from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, TypeVar

__all__ = ["Background", "resolve"]

T = TypeVar("T")


async def resolve(callback: Callable[..., Awaitable[T] | T], *arguments: Any) -> T:
    """Call something that may or may not be async."""
    outcome = callback(*arguments)
    if isawaitable(outcome):
        return await outcome
    return outcome


class Background:
    """A set of running tasks that can be ended together."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run it; an exception is reported to the loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            task.get_loop().call_exception_handler(
                {"message": "A client callback failed", "exception": error, "task": task}
            )

    async def drain(self, seconds: float) -> None:
        """Give what is running a moment to finish."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def close(self) -> None:
        """Cancel what is running and wait until it has ended."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
