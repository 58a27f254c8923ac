"""Asynchronous access to the task store; stores that block are called from a thread."""

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
    """Opens the store on first use, and runs its operations one at a time."""

    def __init__(self, open_store: Callable[[], TaskStore]) -> None:
        self._open_store = open_store
        self._thread = WorkerPool(1)
        self.store: TaskStore | None = None
        # Whether other processes may read the store.
        self.is_shared = True

    @property
    def opened(self) -> TaskStore:
        """The store; it must be open."""
        assert self.store is not None
        return self.store

    async def open(self) -> None:
        """Open the store; this may create directories and wait for other processes."""
        if self.store is None:
            self.store = await self._thread.run(self._open_store)
            self.is_shared = self.store.is_shared

    async def close(self) -> None:
        """Close a shared store; one in memory stays open, because its tasks would be lost."""
        if self.store is not None and self.store.is_shared:
            store, self.store = self.store, None
            await self._thread.run(store.close)

    async def do(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a method of the store, in the thread if the store blocks."""
        if not self.opened.blocks:
            return function(*arguments)
        # Shielded: the write completes even if the caller is cancelled.
        return await asyncio.shield(self._thread.run(partial(function, *arguments)))

    async def save(self, row: TaskRow) -> bool:
        """Save a row; False if the task has ended or no longer exists."""
        return self.store is not None and await self.do(self.store.save, row)

    def save_soon(self, row: TaskRow) -> None:
        """Save a row without waiting for it; rows are saved in the order of the calls."""
        if self.store is None:
            return
        if self.store.blocks:
            self._thread.run(partial(self.store.save, row)).add_done_callback(_log_failure)
        else:
            self.store.save(row)


def _log_failure(saving: asyncio.Future[bool]) -> None:
    if not saving.cancelled() and saving.exception() is not None:
        logger.error("a task could not be kept: %s", saving.exception())
