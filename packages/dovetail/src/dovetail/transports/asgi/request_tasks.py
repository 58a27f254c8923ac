"""The tasks of running requests, which are cancelled some time after the shutdown began.

uvicorn would do so later, and `dovetail run` ends the process before that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = ["RequestTasks"]


class RequestTasks:
    """Tracks the tasks that serve requests."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    @contextlib.contextmanager
    def track(self) -> Iterator[None]:
        """Track the current task while it serves a request."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            yield
        finally:
            self._running.discard(task)

    async def finish(self, grace: float) -> None:
        """Give the requests `grace` seconds, then cancel the rest."""
        running = list(self._running)
        if running:
            _, late = await asyncio.wait(running, timeout=grace)
            for task in late:
                task.cancel()
