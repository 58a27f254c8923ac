"""Runs authors' functions: in turn, within their time, interruptible for real.

Three things can stop a function before it returns: its time is up, the run has to end
because it asks the client for something (modern era), or nobody wants the answer any
more. All three cancel the task; the first two leave an outcome, which then replaces
whatever the function does about being cancelled. The third is somebody else's
cancellation and passes through.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from dovetail.core.call import Call
from dovetail.core.handler import Handler, Style
from dovetail.core.options import Options
from dovetail.errors import LimitError
from dovetail.runtime.coroutines import resume_coroutine
from dovetail.runtime.workers import WorkerPool

__all__ = ["HandlerRunner", "TaskRunner"]

T = TypeVar("T")

# Looked up once: an enum's members are found by a descriptor, each time they are named.
_ASYNC, _THREAD = Style.ASYNC, Style.THREAD


class HandlerRunner:
    """The runner of one server."""

    def __init__(self, options: Options) -> None:
        self._workers = WorkerPool(options.worker_threads)
        self._slots = _Slots(options.concurrency, options.queue)
        self._clock = _Clock(options.timeout, options.idle_timeout)

    def start(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """What `shape` makes of the function's value: at once, or to be awaited."""
        if call.running:
            # A running handler reads a resource. It has a slot and a clock already; to wait for
            # a second slot could last forever, once all slots are held by such handlers.
            return self._nested(call, handler, arguments, shape)
        if self._slots.free < 1:
            return self._queued(call, handler, arguments, shape)
        self._slots.free -= 1
        return self._begin(call, handler, arguments, shape)

    def _begin(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """Take the first step, with a slot in hand; most functions need no second one."""
        call.running = True
        goes_on = False
        try:
            if call.cancelled:
                raise asyncio.CancelledError  # withdrawn before it began: no effect is wanted
            running: Awaitable[Any]
            if handler.style is _THREAD:
                goes_on, running = True, self._in_thread(call, handler, arguments)
            else:
                value = handler.function(**arguments)
                if handler.style is _ASYNC:
                    try:
                        awaited = value.send(None)
                        running = resume_coroutine(value, awaited, value.send, value.throw)
                        goes_on = True
                    except StopIteration as returned:
                        value = returned.value
        except (SystemExit, asyncio.CancelledError) as error:
            _refuse_own(call, error)
            raise
        finally:
            if not goes_on:
                call.running = False
                self._slots.release()
        return self._go_on(call, handler, running, shape) if goes_on else shape(call, value)

    async def _go_on(
        self,
        call: Call,
        handler: Handler,
        running: Awaitable[Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        """The rest of a run that waits for something: now the clock runs."""
        watch = self._clock.start(call, handler)
        try:
            value = await running
        except (SystemExit, asyncio.CancelledError) as error:
            _refuse_own(call, error)
            raise
        finally:
            call.running = False
            self._slots.release()
            # In place of whatever the function did about being cancelled: value or error.
            if watch.stop():
                assert watch.outcome is not None
                raise watch.outcome from None
        return shape(call, value)

    async def _queued(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        await self._slots.wait()
        outcome = self._begin(call, handler, arguments, shape)
        return await outcome if isinstance(outcome, Coroutine) else outcome

    async def _nested(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        try:
            if handler.style is _THREAD:
                return shape(call, await self._in_thread(call, handler, arguments))
            value = handler.function(**arguments)
            return shape(call, await value if handler.style is _ASYNC else value)
        except SystemExit as error:
            raise RuntimeError(f"the handler raised {error!r}") from error

    async def _in_thread(self, call: Call, handler: Handler, arguments: dict[str, Any]) -> Any:
        try:
            return await self._workers.run(partial(handler.function, **arguments))
        except asyncio.CancelledError:
            # A thread cannot be stopped; it can look at ctx.cancelled.
            call.cancelled = call.cancelled or _is_cancelling()
            raise


class TaskRunner(HandlerRunner):
    """The runner of a server's tasks, which may take long: slots, threads and time of their own."""

    def __init__(self, options: Options) -> None:
        self._workers = WorkerPool(options.worker_threads)
        self._slots = _Slots(options.task_concurrency, sys.maxsize)
        # Only a tool's own limits hold.
        self._clock = _Clock(None, None)

    def lend(self) -> None:
        """Let others have the slot of a run that waits for the client."""
        self._slots.release()

    def take_back(self) -> None:
        """The run goes on; it does not stand in line again."""
        self._slots.free -= 1

    def start(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """In one coroutine: nobody waits for the first step, and many wait for their clients."""
        if call.running or handler.timeout is not None or handler.idle_timeout is not None:
            return super().start(call, handler, arguments, shape)
        return self._run(call, handler, arguments, shape)

    async def _run(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        if self._slots.free < 1:
            await self._slots.wait()
        else:
            self._slots.free -= 1
        call.running = True
        try:
            if handler.style is _THREAD:
                value = await self._in_thread(call, handler, arguments)
            elif handler.style is _ASYNC:
                value = await handler.function(**arguments)
            else:
                value = handler.function(**arguments)
        except SystemExit as error:
            raise RuntimeError(f"the handler raised {error!r}") from error
        finally:
            call.running = False
            self._slots.release()
        return shape(call, value)


def _refuse_own(call: Call, error: BaseException) -> None:
    """Turn what is meant for others than whoever waits for an answer into a failure.

    SystemExit would end the event loop, and with it every other call. A cancellation passes on
    where somebody has cancelled; one that the function raised by itself, or let through from a
    task of its own, would leave the client without an answer.
    """
    if isinstance(error, SystemExit) or not (call.cancelled or _is_cancelling()):
        raise RuntimeError(f"the handler raised {error!r}") from error


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class _Slots:
    """At most `limit` at a time, others in line, and a line of bounded length."""

    __slots__ = ("_limit", "_line", "_queue", "free")

    def __init__(self, limit: int, queue: int) -> None:
        # Whoever sees one free may take it: a plain number, because every call looks at it.
        self.free = limit
        self._limit = limit
        self._queue = queue
        self._line: deque[asyncio.Future[None]] = deque()

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
        if self.free < 0:
            self.free += 1  # it was taken beyond the limit
            return
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1


class _Clock:
    """One timer for all runs, set to the earliest time at which any of them could be over time.

    A timer for each run would be a tenth of what a short call costs.
    """

    def __init__(self, timeout: float | None, idle_timeout: float | None) -> None:
        self._timeout = timeout
        self._idle_timeout = idle_timeout
        self._watches: set[_Watch] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = math.inf

    def start(self, call: Call, handler: Handler) -> _Watch:
        """Begin to time a run."""
        watch = _Watch(
            self,
            call,
            handler,
            self._timeout if handler.timeout is None else handler.timeout,
            self._idle_timeout if handler.idle_timeout is None else handler.idle_timeout,
        )
        self._watches.add(watch)
        self.schedule(watch)
        return watch

    def schedule(self, watch: _Watch) -> None:
        """Make sure that the timer rings when this run is due."""
        if watch.loop is not self._loop:
            # A server may live through several event loops, one after another.
            self._loop, self._rings_at = watch.loop, math.inf
        if watch.due < self._rings_at:
            if self._timer is not None:
                self._timer.cancel()
            self._rings_at = watch.due
            self._timer = watch.loop.call_at(watch.due, self._ring)

    def forget(self, watch: _Watch) -> None:
        """The run is over."""
        self._watches.discard(watch)

    def _ring(self) -> None:
        assert self._loop is not None
        self._rings_at = math.inf
        now = self._loop.time()
        for watch in tuple(self._watches):
            if watch.loop is not self._loop:
                self._watches.discard(watch)  # its loop ended before its run did
            elif watch.due <= now:
                watch.expire(now)
            else:
                self.schedule(watch)


class _Watch:
    """The time of one run, and the way to end it from outside."""

    __slots__ = (
        "_call",
        "_clock",
        "_deadline",
        "_handler",
        "_held_since",
        "_idle",
        "_idle_deadline",
        "_task",
        "_timeout",
        "loop",
        "outcome",
    )

    def __init__(
        self,
        clock: _Clock,
        call: Call,
        handler: Handler,
        timeout: float | None,
        idle: float | None,
    ) -> None:
        self._clock = clock
        self._call = call
        self._handler = handler
        self._timeout = timeout
        self._idle = idle
        self.loop = loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self.outcome: Exception | None = None
        now = loop.time()
        # Since when the time stands still; a function may wait for the client from the start.
        self._held_since = now if call.holds else None
        self._deadline = math.inf if timeout is None else now + timeout
        self._idle_deadline = math.inf if idle is None else now + idle
        call.interruption = self.interrupt
        call.on_hold = self.hold
        if idle is not None:
            call.on_activity = self._alive

    @property
    def due(self) -> float:
        """When the run is over time, as it stands."""
        if self._held_since is not None:
            return math.inf
        return min(self._deadline, self._idle_deadline)

    def interrupt(self, outcome: Exception) -> None:
        """End the run; `outcome` is what the run comes to."""
        if self.outcome is None and self._task is not None:
            self.outcome = outcome
            self._task.cancel()

    def stop(self) -> bool:
        """The run is over; True if it was interrupted and nobody else cancelled it."""
        call = self._call
        call.interruption = call.on_hold = call.on_activity = None
        self._clock.forget(self)
        if self.outcome is None or self._task is None:
            return False
        # Take our own cancellation back; one that remains came from somebody else.
        return self._task.uncancel() == 0

    def hold(self) -> None:
        """Stop the time while the client is asked something."""
        if self._held_since is None:
            self._held_since = self.loop.time()
        elif not self._call.holds:
            self._deadline += self.loop.time() - self._held_since
            self._held_since = None
            self._alive()
            self._clock.schedule(self)

    def _alive(self) -> None:
        # May come from a worker thread: it only moves a number that the clock looks at.
        if self._idle is not None:
            self._idle_deadline = self.loop.time() + self._idle

    def expire(self, now: float) -> None:
        """The time is up: say which, and end the run."""
        if now >= self._deadline:
            what = f"took longer than {self._timeout:g} seconds"
        else:
            what = f"showed no progress for {self._idle:g} seconds"
        self._call.cancelled = True
        self.interrupt(LimitError(f"Timed out: {self._handler.label} {what} and was stopped."))
