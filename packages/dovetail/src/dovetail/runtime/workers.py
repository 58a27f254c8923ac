"""A thread pool for functions that may block.

Unlike `concurrent.futures`, it uses daemon threads: a handler that never returns does not keep the
process from exiting.
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


class _Outcomes:
    """The queue of finished jobs for one event loop, delivered in batches.

    Waking the loop is a system call and costs more than the rest of a short job. The loop is
    therefore woken once for all queued outcomes.
    """

    __slots__ = ("_is_scheduled", "_pending", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._pending: deque[tuple[asyncio.Future[Any], Any, bool]] = deque()
        self._is_scheduled = False

    def put(self, future: asyncio.Future[Any], outcome: Any, failed: bool) -> None:
        """Queue an outcome; called from worker threads."""
        self._pending.append((future, outcome, failed))
        if not self._is_scheduled:
            self._is_scheduled = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self.loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # Reset the flag first: an outcome that is queued from now on wakes the loop again.
        self._is_scheduled = False
        while self._pending:
            _set_outcome(*self._pending.popleft())


class _Job(NamedTuple):
    outcomes: _Outcomes
    future: asyncio.Future[Any]
    function: Callable[[], Any]
    context: contextvars.Context


class WorkerPool:
    """A pool of at most `size` threads, which are started on demand."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._threads = 0
        self._idle = 0
        self._lock = threading.Lock()
        self._outcomes: _Outcomes | None = None

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Run `function` in a thread, in the caller's context; returns a future for its outcome."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        outcomes = self._outcomes
        if outcomes is None or outcomes.loop is not loop:
            outcomes = self._outcomes = _Outcomes(loop)
        self._jobs.put(_Job(outcomes, future, function, contextvars.copy_context()))
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
                # Skip jobs that were cancelled while they were queued: their side effects are not
                # wanted either.
                if not job.future.cancelled():
                    outcome = job.context.run(job.function)
            except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
                outcome, failed = error, True
            with self._lock:
                self._idle += 1
            job.outcomes.put(job.future, outcome, failed)
            del job, outcome


def _set_outcome(future: asyncio.Future[Any], outcome: Any, failed: bool) -> None:
    if future.done():
        return
    if not failed:
        future.set_result(outcome)
    elif isinstance(outcome, Exception) and not isinstance(outcome, StopIteration):
        future.set_exception(outcome)
    else:
        # SystemExit and KeyboardInterrupt would stop the loop, and a future rejects StopIteration:
        # report the handler as failed.
        future.set_exception(RuntimeError(f"the handler raised {outcome!r}"))
