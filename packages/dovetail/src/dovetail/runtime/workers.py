"""Threads for functions that may block.

Daemon threads, unlike those of `concurrent.futures`: a handler that never returns must
not keep the process from ending when its client is gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

__all__ = ["WorkerPool"]

T = TypeVar("T")


class _Landing:
    """Where threads leave outcomes for one event loop: it is woken once for all that wait.

    Each wake-up is a system call, and dearer than the rest of a short job.
    """

    __slots__ = ("_is_woken", "_outcomes", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._outcomes: deque[tuple[asyncio.Future[Any], Any, bool]] = deque()
        self._is_woken = False

    def leave(self, future: asyncio.Future[Any], outcome: Any, failed: bool) -> None:
        """From a thread: leave an outcome."""
        self._outcomes.append((future, outcome, failed))
        if not self._is_woken:
            self._is_woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self.loop.call_soon_threadsafe(self._collect)

    def _collect(self) -> None:
        # In this order: what is left from now on wakes the loop again.
        self._is_woken = False
        while self._outcomes:
            _settle(*self._outcomes.popleft())


class _Job(NamedTuple):
    landing: _Landing
    future: asyncio.Future[Any]
    function: Callable[[], Any]
    context: contextvars.Context


class WorkerPool:
    """At most `size` threads, started when they are needed."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._threads = 0
        self._idle = 0
        self._lock = threading.Lock()
        self._landing: _Landing | None = None

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Run `function` in a thread, in the caller's context; the future has its outcome."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        landing = self._landing
        if landing is None or landing.loop is not loop:
            landing = self._landing = _Landing(loop)
        self._jobs.put(_Job(landing, future, function, contextvars.copy_context()))
        with self._lock:
            start = self._idle == 0 and self._threads < self._size
            if start:
                self._threads += 1
            elif self._idle:
                self._idle -= 1
        if start:
            threading.Thread(target=self._work, name="dovetail-worker", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            outcome: Any = None
            failed = False
            try:
                # Nobody waits for a job that was cancelled while all threads were busy: its
                # effects are not wanted either.
                if not job.future.cancelled():
                    outcome = job.context.run(job.function)
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the future
                outcome, failed = error, True
            with self._lock:
                self._idle += 1
            job.landing.leave(job.future, outcome, failed)
            del job, outcome


def _settle(future: asyncio.Future[Any], outcome: Any, failed: bool) -> None:
    if future.done():
        return
    if not failed:
        future.set_result(outcome)
    elif isinstance(outcome, Exception) and not isinstance(outcome, StopIteration):
        future.set_exception(outcome)
    else:
        # SystemExit and the like would stop the loop, and a future refuses StopIteration; the
        # handler has simply failed.
        future.set_exception(RuntimeError(f"the handler raised {outcome!r}"))
