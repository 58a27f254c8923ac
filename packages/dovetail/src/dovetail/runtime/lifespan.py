"""The server's lifespan: entered before the first call that needs it, left when the server closes.

It runs in a task of its own, so that whoever happens to make the first call may come
and go, and a context manager that wants to be left by the task that entered it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any

__all__ = ["Lifespan"]


class Lifespan:
    """Starts once, on first need."""

    def __init__(
        self, factory: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    ) -> None:
        """Without a factory there is nothing to enter, and everything has started."""
        self._factory = factory
        self._task: asyncio.Task[None] | None = None
        self._entered: asyncio.Future[Any] | None = None
        self._stop: asyncio.Event | None = None
        # Whether calls may run, and what the context manager yielded: plain attributes,
        # because every call looks at them.
        self.started = factory is None
        self.state: Any = None
        self._inner: list[Callable[[], AbstractAsyncContextManager[Any]]] = []

    def add(self, factory: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        """Something of the server's own, entered after the author's and left before it.

        What is added to a lifespan that is entered already takes part from the next time on.
        """
        self._inner.append(factory)
        if self._entered is None:
            self.started = False

    async def start(self) -> Any:
        """Enter the context manager, once; raises what entering raised."""
        if self._factory is None and not self._inner:
            return None
        if self._entered is None:
            self._entered = asyncio.get_running_loop().create_future()
            self._stop = asyncio.Event()
            factory = self._factory or nullcontext
            self._task = asyncio.create_task(self._live(factory, self._entered, self._stop))
        return await asyncio.shield(self._entered)

    async def close(self) -> None:
        """Leave the context manager."""
        if self._task is not None and self._stop is not None:
            self._stop.set()
            task, self._task, self._entered, self._stop = self._task, None, None, None
            self.started, self.state = False, None
            await task

    async def _live(
        self,
        factory: Callable[[], AbstractAsyncContextManager[Any]],
        entered: asyncio.Future[Any],
        stop: asyncio.Event,
    ) -> None:
        try:
            async with factory() as value, AsyncExitStack() as stack:
                self.state = value
                for inner in tuple(self._inner):
                    await stack.enter_async_context(inner())
                self.started = True
                entered.set_result(value)
                await stop.wait()
        except Exception as error:
            if entered.done():
                raise
            entered.set_exception(error)
        finally:
            if self._entered is entered:
                # Failed, or its event loop ended: the next call enters it anew.
                self._task = self._entered = self._stop = None
                self.started, self.state = False, None
