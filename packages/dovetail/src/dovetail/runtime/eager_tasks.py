"""Run a coroutine's first step synchronously; create a task only if it suspends.

Most handlers finish in their first step. Scheduling a task for each would cost more than the rest
of the call, and the loop has to turn before it starts. Python 3.12 has eager tasks for this.

Python 3.11 has none. There an idle task is entered while the first step runs, so that
`asyncio.current_task()`, time-outs and task groups find what they expect. If the call goes on, that
task continues it. If not, the task serves the next call, unless the handler still refers to it:
then it is dropped. Its reference count shows that, which grows with every reference on the only
implementation of 3.11 that asyncio's C tasks exist on; where it cannot be read, no task is used
twice. Entering and leaving tasks is what asyncio documents for those who drive tasks ("Extending").
This half goes away with Python 3.11.
"""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeAlias, TypeVar

__all__ = ["EagerTasks", "resume_coroutine"]


@types.coroutine
def resume_coroutine(
    running: Coroutine[Any, Any, Any],
    awaited: Any,
    send: Callable[[Any], Any],
    throw: Callable[[Any], Any],
) -> Generator[Any, Any, Any]:
    """The rest of `running`, which waits for `awaited`.

    `send` and `throw` drive it: its own methods, or wrappers that do it in another context.
    """
    step: Callable[[Any], Any]
    while True:
        try:
            given = yield awaited
            step = send
        except GeneratorExit:
            running.close()
            raise
        except BaseException as error:  # noqa: BLE001 - passed on to the coroutine that waits
            given, step = error, throw
        try:
            awaited = step(given)
        except StopIteration as returned:
            return returned.value


T = TypeVar("T")
Rest: TypeAlias = Coroutine[Any, Any, Any]

if sys.version_info >= (3, 12):

    class EagerTasks:
        """Starts calls on one event loop."""

        __slots__ = ("_loop",)

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self._loop = loop

        def begin(
            self,
            start: Callable[[], T | Rest],
            wrap: Callable[[Rest], Rest] | None = None,
        ) -> T | asyncio.Task[Any]:
            """What `start` returns, or the task that continues the coroutine it returns.

            Must be called outside of any task. `wrap` puts the coroutine into another one.
            """
            task = asyncio.Task(_run(start, wrap), loop=self._loop, eager_start=True)
            if not task.done() or task.cancelled():
                return task
            return task.result()  # type: ignore[no-any-return]

        def close(self) -> None:
            """Nothing is stored."""

    async def _run(start: Callable[[], Any | Rest], wrap: Callable[[Rest], Rest] | None) -> Any:
        outcome = start()
        if not isinstance(outcome, types.CoroutineType):
            return outcome
        # The caller may prepare what `wrap` needs before the call goes on.
        await asyncio.sleep(0)
        return await (outcome if wrap is None else wrap(outcome))

else:
    from asyncio.tasks import _enter_task, _leave_task
    from contextvars import Context, copy_context
    from weakref import getweakrefcount

    from dovetail.runtime.eager_tasks import resume_coroutine

    def _count_nothing(_task: object) -> int:
        return -1

    _getrefcount: Callable[[object], int] = getattr(sys, "getrefcount", _count_nothing)

    class EagerTasks:
        """Starts calls on one event loop."""

        __slots__ = ("_idle", "_loop")

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self._loop = loop
            # One is enough: a first step cannot begin another call.
            self._idle: _IdleTask | None = None

        def begin(
            self,
            start: Callable[[], T | Rest],
            wrap: Callable[[Rest], Rest] | None = None,
        ) -> T | asyncio.Task[Any]:
            """What `start` returns, or the task that continues the coroutine it returns.

            Must be called outside of any task. `wrap` puts the coroutine into another one.
            """
            loop = self._loop
            idle, self._idle = self._idle or _IdleTask(loop), None
            task = idle.task
            references = _getrefcount(task)
            # What a call sets in its context must not be seen by the next one.
            context = copy_context()
            _enter_task(loop, task)
            outcome: Any
            try:
                outcome = context.run(start)
            except asyncio.CancelledError as cancelled:
                # The task of the call ends cancelled, not the caller.
                outcome = _raise(cancelled)
            except BaseException:
                idle.drop()
                raise
            finally:
                _leave_task(loop, task)
            if isinstance(outcome, types.CoroutineType):
                idle.go_on(outcome if wrap is None else wrap(outcome), context)
                return task
            if (
                _getrefcount(task) == references > 0
                # The set of all tasks has one.
                and getweakrefcount(task) == 1
                and not task.cancelling()
                and not task._callbacks
            ):
                self._idle = idle
            else:
                idle.drop()
            return outcome  # type: ignore[no-any-return]

        def close(self) -> None:
            """Drop the task that is ready for the next call."""
            if self._idle is not None:
                self._idle.drop()
                self._idle = None

    class _IdleTask:
        """A task that waits for work."""

        __slots__ = ("_work", "task")

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            self._work: asyncio.Future[tuple[Rest, Context] | None] = loop.create_future()
            self.task: asyncio.Task[Any] = loop.create_task(_run_idle(self._work))

        def go_on(self, rest: Rest, context: Context) -> None:
            """Continue a call."""
            self._work.set_result((rest, context))

        def drop(self) -> None:
            """There is no work for it."""
            if not self._work.done():
                self._work.set_result(None)

    async def _raise(error: BaseException) -> Any:
        raise error

    async def _run_idle(work: asyncio.Future[tuple[Rest, Context] | None]) -> Any:
        given = await work
        if given is None:
            return None
        rest, context = given

        # Each step runs in the context that the call began in.
        def send(value: Any) -> Any:
            return context.run(rest.send, value)

        def throw(error: Any) -> Any:
            return context.run(rest.throw, error)

        try:
            awaited = send(None)
        except StopIteration as returned:
            return returned.value
        return await resume_coroutine(rest, awaited, send, throw)
