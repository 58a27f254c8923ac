"""Runs authors' functions: in turn, within their time, interruptible for real.

Three things can stop a function before it returns: its time is up, the run has to end
because it asks the client for something (modern era), or nobody wants the answer any
more. All three cancel the task; the first two leave an outcome, which then replaces
whatever the function does about being cancelled. The third is somebody else's
cancellation and passes through.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import Any

from dovetail.core.call import Call
from dovetail.core.handler import Handler, Style
from dovetail.core.options import Options
from dovetail.errors import LimitError
from dovetail.runtime.workers import WorkerPool

__all__ = ["HandlerRunner"]


class HandlerRunner:
    """The runner of one server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._workers = WorkerPool(options.worker_threads)
        self._slots = _Slots(options.concurrency, options.queue)

    async def run(self, call: Call, handler: Handler, arguments: dict[str, Any]) -> Any:
        """The function's return value; raises what it raises, LimitError or an interim outcome."""
        if call.interruption is not None:
            # A running handler reads a resource. It has a slot and a clock already; to wait for
            # a second slot could last forever, once all slots are held by such handlers.
            return await self._run(call, handler, arguments)
        slots = self._slots
        if not slots.take():
            await slots.wait()
        try:
            if call.cancelled:
                raise asyncio.CancelledError  # withdrawn before it began: no effect is wanted
            if handler.style is Style.INLINE:
                return await self._run(call, handler, arguments)
            return await self._timed(call, handler, self._run(call, handler, arguments))
        finally:
            slots.release()

    async def _run(self, call: Call, handler: Handler, arguments: dict[str, Any]) -> Any:
        try:
            if handler.style is Style.THREAD:
                return await self._in_thread(call, handler, arguments)
            value = handler.function(**arguments)
            return await value if handler.style is Style.ASYNC else value
        except SystemExit as error:
            # It would end the event loop and with it every other call; the handler has failed.
            raise RuntimeError(f"the handler raised {error!r}") from error

    async def _in_thread(self, call: Call, handler: Handler, arguments: dict[str, Any]) -> Any:
        try:
            return await self._workers.run(partial(handler.function, **arguments))
        except asyncio.CancelledError:
            # A thread cannot be stopped; it can look at ctx.cancelled.
            call.cancelled = True
            raise

    async def _timed(self, call: Call, handler: Handler, running: Coroutine[Any, Any, Any]) -> Any:
        timeout = handler.timeout if handler.timeout is not None else self._options.timeout
        idle = handler.idle_timeout
        watch = _Watch(
            call, handler, timeout, idle if idle is not None else self._options.idle_timeout
        )
        try:
            return await running
        finally:
            # In place of whatever the function did about being cancelled: a value or an error.
            if watch.stop():
                assert watch.outcome is not None
                raise watch.outcome from None


class _Slots:
    """At most `limit` at a time, others in line, and a line of bounded length."""

    def __init__(self, limit: int, queue: int) -> None:
        self._free = limit
        self._limit = limit
        self._queue = queue
        self._line: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a slot if one is free and nobody was here before."""
        if self._free > 0:
            self._free -= 1
            return True
        return False

    async def wait(self) -> None:
        """Stand in line for a slot."""
        if len(self._line) >= self._queue:
            raise LimitError(
                f"The server is busy: {self._limit} calls run and {self._queue} wait. Try again "
                "later."
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._line:
                self._line.remove(turn)  # others may have the place
            elif not turn.cancelled():
                self.release()  # the slot was handed over in the same moment
            raise

    def release(self) -> None:
        """Give the slot to the next in line, or back."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class _Watch:
    """The clock of one run, and the way to end it from outside."""

    __slots__ = (
        "_call",
        "_deadline",
        "_handler",
        "_held_since",
        "_holds",
        "_idle",
        "_idle_deadline",
        "_loop",
        "_task",
        "_timeout",
        "_timer",
        "outcome",
    )  # fmt: skip

    def __init__(
        self, call: Call, handler: Handler, timeout: float | None, idle: float | None
    ) -> None:
        self._call = call
        self._handler = handler
        self._timeout = timeout
        self._idle = idle
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        # How many questions to the client are open, and since when the clock stands still.
        self._holds = 0
        self._held_since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self.outcome: Exception | None = None
        now = self._loop.time()
        self._deadline = now + timeout if timeout is not None else None
        self._idle_deadline = now + idle if idle is not None else None
        call.interruption = self.interrupt
        call.hold = self.hold
        if idle is not None:
            call.on_activity = self._alive
        self._arm()

    def interrupt(self, outcome: Exception) -> None:
        """End the run; `outcome` is what the run comes to."""
        if self.outcome is None and self._task is not None:
            self.outcome = outcome
            self._task.cancel()

    def stop(self) -> bool:
        """The run is over; True if it was interrupted and nobody else cancelled it."""
        call = self._call
        call.interruption = call.hold = call.on_activity = None
        self._disarm()
        if self.outcome is None or self._task is None:
            return False
        # Take our own cancellation back; one that remains came from somebody else.
        return self._task.uncancel() == 0

    def hold(self, waiting: bool) -> None:
        """Stop the clock while the client is asked something."""
        self._holds += 1 if waiting else -1
        if waiting and self._holds == 1:
            self._held_since = self._loop.time()
            self._disarm()
        elif self._holds == 0:
            if self._deadline is not None:
                self._deadline += self._loop.time() - self._held_since
            self._alive()
            self._arm()

    def _alive(self) -> None:
        # May come from a worker thread: it only moves a number that the timer looks at.
        if self._idle is not None:
            self._idle_deadline = self._loop.time() + self._idle

    def _arm(self) -> None:
        due = min((d for d in (self._deadline, self._idle_deadline) if d is not None), default=None)
        if due is not None:
            self._timer = self._loop.call_at(due, self._expire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        now = self._loop.time()
        if self._deadline is not None and now >= self._deadline:
            self._time_out(f"took longer than {self._timeout:g} seconds")
        elif self._idle_deadline is not None and now >= self._idle_deadline:
            self._time_out(f"showed no progress for {self._idle:g} seconds")
        else:
            self._arm()

    def _time_out(self, what: str) -> None:
        self._call.cancelled = True
        self.interrupt(LimitError(f"Timed out: {self._handler.label} {what} and was stopped."))
