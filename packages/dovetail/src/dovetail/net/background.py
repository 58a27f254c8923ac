"""Background tasks: referenced until they end, with their exceptions reported.

A user's callback may raise anything. Its exception goes to the event loop's exception handler
instead of ending the stream that called it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, TypeVar

__all__ = ["BackgroundTasks", "resolve"]

T = TypeVar("T")


async def resolve(callback: Callable[..., Awaitable[T] | T], *arguments: Any) -> T:
    """Call a sync or async function and return its result."""
    outcome = callback(*arguments)
    if isawaitable(outcome):
        return await outcome
    return outcome


class BackgroundTasks:
    """A set of running tasks that can be cancelled together."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether a task is running."""
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task; an exception is reported to the event loop."""
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
        """Wait at most `seconds` for the running tasks to finish."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def close(self) -> None:
        """Cancel the running tasks and wait until they have ended."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
