"""The rows of a server's tasks: the store behind a thread of its own, if it may block."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from dovetail.runtime.workers import WorkerPool
from dovetail.stores.tasks import TaskRow, TaskStore

__all__ = ["TaskRows"]

logger = logging.getLogger("dovetail")

T = TypeVar("T")


class TaskRows:
    """Opens the store when it is first wanted, and does one thing after the other with it."""

    def __init__(self, open_store: Callable[[], TaskStore]) -> None:
        self._open_store = open_store
        self._thread = WorkerPool(1)
        self.store: TaskStore | None = None
        # Whether others may look at what is kept.
        self.is_shared = True

    @property
    def opened(self) -> TaskStore:
        """The store, for whoever knows that it is open."""
        assert self.store is not None
        return self.store

    async def open(self) -> None:
        """Open the store, which may make folders and wait for other processes."""
        if self.store is None:
            self.store = await self._thread.run(self._open_store)
            self.is_shared = self.store.is_shared

    async def close(self) -> None:
        """Close a store that others can open; what is in memory alone is kept."""
        if self.store is not None and self.store.is_shared:
            store, self.store = self.store, None
            await self._thread.run(store.close)

    async def do(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a method of the store."""
        if not self.opened.blocks:
            return function(*arguments)
        # What has happened is kept, also for somebody who does not wait for it any more.
        return await asyncio.shield(self._thread.run(partial(function, *arguments)))

    async def save(self, row: TaskRow) -> bool:
        """Keep a row; False if the task has ended or is gone."""
        return self.store is not None and await self.do(self.store.save, row)

    def save_soon(self, row: TaskRow) -> None:
        """Keep a row in the order in which rows change; nobody waits for it."""
        if self.store is None:
            return
        if self.store.blocks:
            self._thread.run(partial(self.store.save, row)).add_done_callback(_complain)
        else:
            self.store.save(row)


def _complain(saving: asyncio.Future[bool]) -> None:
    if not saving.cancelled() and saving.exception() is not None:
        logger.error("a task could not be kept: %s", saving.exception())
