"""Runs handlers with a concurrency limit, timeouts and cancellation.

Three things can stop a function before it returns: a timeout, a question to the client that ends
the run (modern era), or a cancellation of the request. All three cancel the asyncio task. The first
two also set an outcome, which replaces whatever the cancelled function returns or raises. A
cancellation of the request propagates unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

from dovetail.core.call import Call, Handler, Style, current_call, nested_run
from dovetail.core.options import Options
from dovetail.core.principal import Principal, owner_of
from dovetail.errors import LimitError
from dovetail.runtime.deadlines import TaskDeadline, current_deadlines
from dovetail.runtime.eager_tasks import resume_coroutine
from dovetail.runtime.workers import WorkerPool

__all__ = [
    "FairQueue",
    "HandlerRunner",
    "MiddlewareTimeLimit",
    "TaskRunner",
]

T = TypeVar("T")


class MiddlewareTimeLimit:
    """Limits the time that the middleware of one call takes itself.

    It is made when the middleware waits for something; most calls never do.
    """

    __slots__ = ("_left", "_limit", "_method", "_paused", "_seconds")

    def __init__(self, seconds: float | None, method: str, handlers_running: int) -> None:
        """`seconds`: the limit, None for no limit."""
        self._seconds = seconds
        self._method = method
        self._paused = handlers_running
        self._limit: TaskDeadline | None = None
        self._left = seconds or 0.0

    async def run(self, middleware: Coroutine[Any, Any, T], awaited: Any) -> T:
        """Await the rest of the middleware, which waits for `awaited`; may raise LimitError."""
        rest = resume_coroutine(middleware, awaited, middleware.send, middleware.throw)
        result: T
        if self._seconds is None:
            result = await rest
            return result
        limit = self._limit = TaskDeadline(None if self._paused else self._left)
        try:
            with limit:
                result = await rest
                return result
        except TimeoutError:
            if not limit.has_expired:
                raise
            raise LimitError(
                f"A middleware exceeded the time limit of {self._seconds:g} s for {self._method}"
            ) from None

    def pause(self) -> None:
        """Stop counting the time, because a handler runs."""
        self._paused += 1
        if self._limit is not None and self._paused == 1:
            self._left = self._limit.left()
            self._limit.move(None)

    def resume(self) -> None:
        """Count the time again."""
        self._paused -= 1
        if self._limit is not None and not self._paused:
            self._limit.move(self._left)


# None is an owner.
_NO_OWNER = object()


class FairQueue(Generic[T]):
    """Items by owner; the items of one owner keep their order."""

    def __init__(self) -> None:
        # The owner whose turn it is comes first.
        self._items: OrderedDict[Hashable, deque[T]] = OrderedDict()
        self._length = 0

    def push(self, owner: Hashable, item: T) -> None:
        """Add an item at the end of its owner's items."""
        self._items.setdefault(owner, deque()).append(item)
        self._length += 1

    def pop(self, is_allowed: Callable[[Hashable], bool] = lambda owner: True) -> T:
        """Remove and return the next item; raises IndexError if there is none.

        Owners that are not allowed keep their turn.
        """
        owner = next((owner for owner in self._items if is_allowed(owner)), _NO_OWNER)
        if owner is _NO_OWNER:
            raise IndexError("the queue has no such item")
        items = self._items.pop(owner)
        item = items.popleft()
        self._length -= 1
        if items:
            self._items[owner] = items
        return item

    def remove(self, owner: Hashable, item: T) -> bool:
        """Remove an item; False if it is not in the queue."""
        items = self._items.get(owner, ())
        if item not in items:
            return False
        assert isinstance(items, deque)
        items.remove(item)
        self._length -= 1
        if not items:
            del self._items[owner]
        return True

    def __len__(self) -> int:
        return self._length


# Looked up once: each access to an enum member calls a descriptor.
_ASYNC, _THREAD = Style.ASYNC, Style.THREAD


class HandlerRunner:
    """Runs the handlers of one server."""

    def __init__(self, options: Options) -> None:
        self._workers = WorkerPool(options.worker_threads)
        self._threads = _Threads(options.worker_threads)
        self._slots = _Slots(options.concurrency, options.queue)
        self._timeout: float | None = options.timeout
        self._idle_timeout: float | None = options.idle_timeout

    def limit_middleware(self, call: Call, handlers_running: int) -> MiddlewareTimeLimit:
        """Return the time limit for the middleware of a call."""
        return MiddlewareTimeLimit(self._timeout, call.method, handlers_running)

    def start(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """Run the handler and return what `shape` makes of its value, or a coroutine for it."""
        if call.phase.is_running:
            # A running handler reads a resource. It already has a slot and a timeout. Waiting for a
            # second slot could deadlock once such handlers hold all slots.
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
        """Run the function up to its first suspension; most return without one. Needs a slot."""
        if call.services.options.current_context:
            call.become_current()
        call.phase = call.phase.begun
        call.handler = handler
        suspended = False
        try:
            if call.phase.is_cancelled:
                raise asyncio.CancelledError  # cancelled before it started
            running: Awaitable[Any]
            if handler.style is _THREAD:
                running = self.in_thread(call, partial(handler.function, **arguments))
                suspended = True
            else:
                value = handler.function(**arguments)
                if handler.style is _ASYNC:
                    try:
                        awaited = value.send(None)
                        running = resume_coroutine(value, awaited, value.send, value.throw)
                        suspended = True
                    except StopIteration as returned:
                        value = returned.value
        except (SystemExit, asyncio.CancelledError) as error:
            _raise_as_failure(call, error)
            raise
        finally:
            if not suspended:
                call.phase = call.phase.left
                self._slots.release()
        return self._await_rest(call, handler, running, shape) if suspended else shape(call, value)

    async def _await_rest(
        self,
        call: Call,
        handler: Handler,
        running: Awaitable[Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        """Await the rest of a function that has suspended, with its timeouts."""
        timer = _RunTimer(
            call,
            handler,
            self._timeout if handler.timeout is None else handler.timeout,
            self._idle_timeout if handler.idle_timeout is None else handler.idle_timeout,
        )
        try:
            value = await running
        except (SystemExit, asyncio.CancelledError) as error:
            _raise_as_failure(call, error)
            raise
        finally:
            call.phase = call.phase.left
            if current_call.get() is call:
                current_call.set(call.outer)
            self._slots.release()
            # The outcome replaces what the function returned or raised when it was cancelled.
            if timer.stop():
                assert timer.outcome is not None
                raise timer.outcome from None
        return shape(call, value)

    async def _queued(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        await self._slots.wait(call.principal)
        outcome = self._begin(call, handler, arguments, shape)
        return await outcome if isinstance(outcome, Coroutine) else outcome

    async def _nested(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T:
        outer = nested_run.get()
        nested_run.set((call, handler))
        try:
            if handler.style is _THREAD:
                return shape(
                    call, await self.in_thread(call, partial(handler.function, **arguments))
                )
            value = handler.function(**arguments)
            return shape(call, await value if handler.style is _ASYNC else value)
        except SystemExit as error:
            raise RuntimeError(f"the handler raised {error!r}") from error
        finally:
            nested_run.set(outer)

    async def in_thread(self, call: Call, function: Callable[[], T]) -> T:
        """Run a function in a worker thread."""
        # Callers take turns here too: the queue of the pool itself stays short.
        owner = owner_of(call.principal)
        await self._threads.acquire(owner)
        try:
            return await self._workers.run(function)
        except asyncio.CancelledError:
            # A thread cannot be stopped, but the function can check ctx.cancelled.
            if _is_cancelling():
                call.phase = call.phase.stopped
            raise
        finally:
            self._threads.release(owner)


class TaskRunner(HandlerRunner):
    """Runs the tasks of a server, with slots, threads and timeouts separate from other calls."""

    def __init__(self, options: Options) -> None:
        self._workers = WorkerPool(options.worker_threads)
        self._threads = _Threads(options.worker_threads)
        self._slots = _Slots(options.task_concurrency, sys.maxsize)
        # Only the timeouts of a tool itself apply to tasks.
        self._timeout = self._idle_timeout = None

    def release_slot(self) -> None:
        """Release the slot of a run that waits for the client."""
        self._slots.release()

    def reclaim_slot(self) -> None:
        """Take the slot again without queueing; this may exceed the limit for a while."""
        self._slots.free -= 1

    def start(
        self,
        call: Call,
        handler: Handler,
        arguments: dict[str, Any],
        shape: Callable[[Call, Any], T],
    ) -> T | Coroutine[Any, Any, T]:
        """Run the handler in one coroutine, which uses less memory while it waits for a client."""
        if call.phase.is_running or handler.timeout is not None or handler.idle_timeout is not None:
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
            await self._slots.wait(call.principal)
        else:
            self._slots.free -= 1
        if call.services.options.current_context:
            call.become_current()
        call.phase = call.phase.begun
        call.handler = handler
        try:
            if handler.style is _THREAD:
                value = await self.in_thread(call, partial(handler.function, **arguments))
            elif handler.style is _ASYNC:
                value = await handler.function(**arguments)
            else:
                value = handler.function(**arguments)
        except SystemExit as error:
            raise RuntimeError(f"the handler raised {error!r}") from error
        finally:
            call.phase = call.phase.left
            self._slots.release()
        return shape(call, value)


def _raise_as_failure(call: Call, error: BaseException) -> None:
    """Raise RuntimeError for SystemExit, and for a cancellation that nobody requested.

    SystemExit would stop the event loop, and with it every other call. A CancelledError that the
    function raised itself, or that came from one of its own tasks, would leave the client without
    a response.
    """
    if isinstance(error, SystemExit) or not (call.phase.is_cancelled or _is_cancelling()):
        raise RuntimeError(f"the handler raised {error!r}") from error


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class _Slots:
    """A semaphore with `limit` slots and a queue of limited length, in which callers take turns."""

    __slots__ = ("_limit", "_queue", "_waiters", "free")

    def __init__(self, limit: int, queue: int) -> None:
        # Callers may decrement it if it is above 0. A plain number, because every call reads it.
        self.free = limit
        self._limit = limit
        self._queue = queue
        self._waiters: FairQueue[asyncio.Future[None]] = FairQueue()

    async def wait(self, principal: Principal | None) -> None:
        """Wait for a slot; raises LimitError if the queue is full."""
        if len(self._waiters) >= self._queue:
            raise LimitError(
                f"The server is busy: {self._limit} calls run and {self._queue} wait. Try again "
                "later."
            )
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        owner = owner_of(principal)
        self._waiters.push(owner, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            # It leaves the queue, unless it has left it already.
            if not self._waiters.remove(owner, waiter) and not waiter.cancelled():
                self.release()  # the slot was assigned just before the cancellation
            raise

    def release(self) -> None:
        """Hand the slot to the next waiter, or mark it as free."""
        if self.free < 0:
            self.free += 1  # the slot exceeded the limit
            return
        while self._waiters:
            waiter = self._waiters.pop()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1


class _Threads:
    """The threads of a pool, for which callers take turns.

    A function that blocks may hold its thread for minutes, so one caller gets at most three
    quarters of the threads: the others do not have to wait for its functions to return.
    """

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._share = limit - limit // 4
        self._held: Counter[Hashable] = Counter()
        self._waiters: FairQueue[tuple[Hashable, asyncio.Future[None]]] = FairQueue()

    async def acquire(self, owner: Hashable) -> None:
        """Wait for a thread."""
        if self._free and self._may_have(owner):
            self._grant(owner)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.push(owner, (owner, waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if not self._waiters.remove(owner, (owner, waiter)) and not waiter.cancelled():
                self.release(owner)  # the thread was assigned just before the cancellation
            raise

    def release(self, owner: Hashable) -> None:
        """Hand the thread to the next waiter that may have it, or mark it as free."""
        self._free += 1
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        with contextlib.suppress(IndexError):
            while self._free:
                owner, waiter = self._waiters.pop(self._may_have)
                if not waiter.done():
                    self._grant(owner)
                    waiter.set_result(None)

    def _may_have(self, owner: Hashable) -> bool:
        return self._held[owner] < self._share

    def _grant(self, owner: Hashable) -> None:
        self._free -= 1
        self._held[owner] += 1


class _RunTimer:
    """The timeouts of one run, and the means to interrupt it."""

    __slots__ = (
        "_all",
        "_call",
        "_deadline",
        "_handler",
        "_held_since",
        "_idle",
        "_idle_deadline",
        "_task",
        "_timeout",
        "outcome",
    )

    def __init__(
        self, call: Call, handler: Handler, timeout: float | None, idle: float | None
    ) -> None:
        self._call = call
        self._handler = handler
        self._timeout = timeout
        self._idle = idle
        self._all = current_deadlines()
        self._task = asyncio.current_task()
        self.outcome: Exception | None = None
        now = self._all.loop.time()
        # When the timeouts were paused; the function may already wait for the client.
        self._held_since = now if call.holds else None
        self._deadline = math.inf if timeout is None else now + timeout
        self._idle_deadline = math.inf if idle is None else now + idle
        call.interruption = self.interrupt
        call.on_hold = self.hold
        if idle is not None:
            call.on_activity = self._extend_idle
        self._all.add(self)

    @property
    def due(self) -> float:
        """The time of the next timeout; infinite while the timeouts are paused."""
        if self._held_since is not None:
            return math.inf
        return min(self._deadline, self._idle_deadline)

    def interrupt(self, outcome: Exception) -> None:
        """Cancel the run, which then raises `outcome`."""
        if self.outcome is None and self._task is not None:
            self.outcome = outcome
            self._task.cancel()

    def stop(self) -> bool:
        """Stop the timeouts; True if the run was interrupted and not cancelled from outside."""
        call = self._call
        call.interruption = call.on_hold = call.on_activity = None
        self._all.remove(self)
        if self.outcome is None or self._task is None:
            return False
        # Undo the cancellation of `interrupt`; one that remains came from outside.
        return self._task.uncancel() == 0

    def hold(self) -> None:
        """Pause or resume the timeouts, depending on whether the call waits for its client."""
        if self._held_since is None:
            self._held_since = self._all.loop.time()
        elif not self._call.holds:
            self._deadline += self._all.loop.time() - self._held_since
            self._held_since = None
            self._extend_idle()
            self._all.moved(self)

    def _extend_idle(self) -> None:
        # May be called from a worker thread: it only sets a number that the timer reads.
        if self._idle is not None:
            self._idle_deadline = self._all.loop.time() + self._idle

    def expire(self, now: float) -> None:
        """Interrupt the run with an error that names the exceeded timeout."""
        if now >= self._deadline:
            what = f"took longer than {self._timeout:g} seconds"
        else:
            what = f"sent no progress or log message for {self._idle:g} seconds"
        self._call.phase = self._call.phase.stopped
        self.interrupt(LimitError(f"Timed out: {self._handler.label} {what} and was stopped."))
