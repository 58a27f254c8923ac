"""Begin a call at once, outside of any task, and still in the task that goes on with it.

Most handlers finish in their first step. To make a task for each costs more than all the rest of
a call, and the loop has to turn before it begins. Here a task stands ready: it is entered while
the first step runs, so that `asyncio.current_task()`, time-outs and task groups find what they
expect, and left again. If there is more to do that very task goes on with it; if not, it stands
ready for the next call, unless the call has left a trace on it (somebody holds it, waits for it,
has cancelled it): then it is let go, and a new one is made.

Entering and leaving is what asyncio's documentation asks of whoever drives tasks ("Extending").
"""

from __future__ import annotations

import asyncio
import types
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from sys import getrefcount
from typing import Any, TypeAlias, TypeVar
from weakref import getweakrefcount

from dovetail.runtime.coroutines import resume_coroutine

__all__ = ["EagerTasks"]

T = TypeVar("T")
Rest: TypeAlias = Coroutine[Any, Any, Any]


class EagerTasks:
    """The task that stands ready, for one event loop."""

    __slots__ = ("_idle", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # One is enough: a first step cannot begin another call.
        self._idle: _IdleTask | None = None

    def begin(
        self,
        start: Callable[[], T | Coroutine[Any, Any, T]],
        wrap: Callable[[Rest], Rest] | None = None,
    ) -> T | asyncio.Task[T]:
        """What `start` returns, or the task that goes on with the coroutine it returns.

        Must be called outside of any task. `wrap` puts the coroutine into another one.
        """
        loop = self._loop
        carrier, self._idle = self._idle or _IdleTask(loop), None
        task = carrier.task
        # What a call sets in its context must not be seen by the next one.
        context = copy_context()
        _enter_task(loop, task)
        outcome: Any
        try:
            outcome = context.run(start)
        except asyncio.CancelledError as cancelled:
            # It is the task that ends cancelled, not whoever began it.
            outcome = _raise(cancelled)
        except BaseException:
            carrier.dismiss()
            raise
        finally:
            _leave_task(loop, task)
        if isinstance(outcome, types.CoroutineType):
            carrier.carry(outcome if wrap is None else wrap(outcome), context)
            return task
        # Four hold it: the carrier, whatever will wake it, this function, and the one who counts.
        # The set of all tasks knows it weakly.
        if (
            getrefcount(task) == 4
            and getweakrefcount(task) == 1
            and not task.cancelling()
            and task._callbacks is None
        ):
            self._idle = carrier
        else:
            carrier.dismiss()
        return outcome  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let the task go that stands ready."""
        if self._idle is not None:
            self._idle.dismiss()
            self._idle = None


class _IdleTask:
    """A task that waits for work."""

    __slots__ = ("_work", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._work: asyncio.Future[tuple[Rest, Context] | None] = loop.create_future()
        self.task: asyncio.Task[Any] = loop.create_task(_run(self._work))

    def carry(self, rest: Rest, context: Context) -> None:
        """Go on with a call."""
        self._work.set_result((rest, context))

    def dismiss(self) -> None:
        """There will be no work."""
        if not self._work.done():
            self._work.set_result(None)


async def _raise(error: BaseException) -> Any:
    raise error


async def _run(work: asyncio.Future[tuple[Rest, Context] | None]) -> Any:
    given = await work
    if given is None:
        return None
    rest, context = given

    # Each step in the context that the call began in.
    def send(value: Any) -> Any:
        return context.run(rest.send, value)

    def throw(error: Any) -> Any:
        return context.run(rest.throw, error)

    try:
        awaited = send(None)
    except StopIteration as returned:
        return returned.value
    return await resume_coroutine(rest, awaited, send, throw)
