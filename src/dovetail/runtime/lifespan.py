"""The server's lifespan: entered before the first call that needs it, left when the server closes.

It runs in a task of its own, so that whoever happens to make the first call may come
and go, and a context manager that wants to be left by the task that entered it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

__all__ = ["Lifespan"]


class Lifespan:
    """Starts once, on first need."""

    def __init__(self, factory: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._factory = factory
        self._task: asyncio.Task[None] | None = None
        self._state: asyncio.Future[Any] | None = None
        self._stop: asyncio.Event | None = None

    @property
    def state(self) -> Any:
        """What the context manager yielded; None before it has."""
        ready = self._state is not None and self._state.done() and not self._state.cancelled()
        return self._state.result() if ready and self._state is not None else None

    @property
    def started(self) -> bool:
        """Whether the state is there."""
        return self._state is not None and self._state.done()

    async def start(self) -> Any:
        """Enter the context manager, once; raises what entering raised."""
        if self._state is None:
            self._state = asyncio.get_running_loop().create_future()
            self._stop = asyncio.Event()
            self._task = asyncio.create_task(self._live(self._state, self._stop))
        return await asyncio.shield(self._state)

    async def close(self) -> None:
        """Leave the context manager."""
        if self._task is not None and self._stop is not None:
            self._stop.set()
            task, self._task, self._state, self._stop = self._task, None, None, None
            await task

    async def _live(self, state: asyncio.Future[Any], stop: asyncio.Event) -> None:
        try:
            async with self._factory() as value:
                state.set_result(value)
                await stop.wait()
        except Exception as error:
            if state.done():
                raise
            state.set_exception(error)
        finally:
            if self._state is state:
                # Failed, or its event loop ended: the next call enters it anew.
                self._task = self._state = self._stop = None
