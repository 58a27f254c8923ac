"""What an application serves at the moment: numbers for monitoring, and tasks to cancel.

The numbers are computed on request from existing collections, so they add no cost to requests. The
tasks of requests are cancelled some time after the shutdown began: uvicorn would do so later, and
`dovetail run` ends the process before that.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["HttpCounts", "RequestTasks"]


class HttpCounts(NamedTuple):
    """Current numbers; all return to zero after the clients have disconnected."""

    # Legacy sessions that have not ended or expired.
    sessions: int = 0
    # Requests whose handler is waiting, including open subscriptions. Stateless legacy requests
    # are not counted.
    calls: int = 0
    # SSE streams with a connected client.
    streams: int = 0

    @classmethod
    def total(cls, parts: Iterable[HttpCounts]) -> HttpCounts:
        """The sum of all parts."""
        return cls(*map(sum, zip(*parts, strict=True)))


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
