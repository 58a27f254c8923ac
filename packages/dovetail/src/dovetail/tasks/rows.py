"""Asynchronous access to the task store of one machine; stores that block use a thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from dovetail.runtime.workers import WorkerPool
from dovetail.stores.tasks import TaskRow, TaskStore

__all__ = ["LocalTaskRows", "TaskListener", "TaskRows", "WaitForChange"]

logger = logging.getLogger("dovetail")

T = TypeVar("T")

WaitForChange: TypeAlias = Callable[[], Awaitable[None]]


class TaskListener(Protocol):
    """What is told of the changes of other processes."""

    def changed_elsewhere(self, row: TaskRow) -> None:
        """Another process has changed a task; the row has no request, questions and result."""

    def answered_elsewhere(self, ids: Sequence[str] | None) -> None:
        """Another process has stored answers for these tasks; None: perhaps, for any."""


class TaskRows(Protocol):
    """The task store of a server, as an event loop uses it."""

    # Whether other processes may read the store.
    is_shared: bool
    # Whether processes tell each other of changes; otherwise they look at the store.
    notifies: bool

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""

    async def open(self, listener: TaskListener | None = None) -> None:
        """Open the store; the listener is told of changes of other processes, if it notifies."""

    async def close(self) -> None:
        """Close the store; other processes can then take over the tasks of this one."""

    async def add(self, row: TaskRow, most: int) -> None:
        """Add a task; raises LimitError, StoreError."""

    async def get(self, id: str) -> TaskRow | None:
        """The task with this id; raises StoreError."""

    async def save(self, row: TaskRow) -> bool:
        """Save a row; False if this process must not change the task any more.

        Raises StoreError.
        """

    async def save_surely(self, row: TaskRow) -> bool:
        """Save a row; waits while the store cannot be used, until the task has expired."""

    def save_soon(self, row: TaskRow) -> None:
        """Save a row without waiting for it; an earlier row never replaces a later one."""

    async def page(
        self, owner: str | None, revision: str | None, after: int, size: int
    ) -> list[TaskRow]:
        """Tasks with a number above `after`; raises StoreError."""

    async def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Take over tasks that no process runs; raises StoreError."""

    async def lost(self, running: Sequence[str]) -> list[str]:
        """Those of the tasks that other processes have taken over; raises StoreError."""

    async def expire(self, now: float) -> list[str]:
        """Delete expired tasks; raises StoreError."""

    async def leave(self, id: str, answers: bytes) -> None:
        """Store answers for the process that runs the task; raises StoreError."""

    async def collect(self, ids: Sequence[str]) -> list[tuple[str, bytes]]:
        """Take the answers that other processes have stored; raises StoreError."""

    async def tell_cancelled(self, id: str) -> None:
        """Tell the process that runs a task that it is cancelled."""

    def watching(self, id: str, interval: float) -> AbstractContextManager[WaitForChange]:
        """Yields a function that waits until the task may have changed in another process.

        `interval` is the time between two looks at a store that does not notify.
        """


class LocalTaskRows:
    """Opens a `TaskStore` on first use, and runs its operations one at a time."""

    notifies = False

    def __init__(self, open_store: Callable[[], TaskStore]) -> None:
        self._open_store = open_store
        self._thread = WorkerPool(1)
        self.store: TaskStore | None = None
        self.is_shared = True

    @property
    def is_open(self) -> bool:
        """Whether the store is open."""
        return self.store is not None

    @property
    def opened(self) -> TaskStore:
        """The store; it must be open."""
        assert self.store is not None
        return self.store

    async def open(self, listener: TaskListener | None = None) -> None:
        """Open the store; this may create directories and wait for other processes."""
        if self.store is None:
            self.store = await self._thread.run(self._open_store)
            self.is_shared = self.store.is_shared

    async def close(self) -> None:
        """Close a shared store; one in memory stays open, because its tasks would be lost."""
        if self.store is not None and self.store.is_shared:
            store, self.store = self.store, None
            await self._thread.run(store.close)

    async def _do(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a method of the store, in the thread if the store blocks."""
        if not self.opened.blocks:
            return function(*arguments)
        # Shielded: the write completes even if the caller is cancelled.
        return await asyncio.shield(self._thread.run(partial(function, *arguments)))

    async def add(self, row: TaskRow, most: int) -> None:
        """Add a task."""
        await self._do(self.opened.add, row, most)

    async def get(self, id: str) -> TaskRow | None:
        """The task with this id."""
        return await self._do(self.opened.get, id)

    async def save(self, row: TaskRow) -> bool:
        """Save a row; False if the task has ended or no longer exists."""
        return self.store is not None and await self._do(self.store.save, row)

    async def save_surely(self, row: TaskRow) -> bool:
        """Save a row: the store can always be used."""
        return await self.save(row)

    def save_soon(self, row: TaskRow) -> None:
        """Save a row without waiting for it; rows are saved in the order of the calls."""
        if self.store is None:
            return
        if self.store.blocks:
            self._thread.run(partial(self.store.save, row)).add_done_callback(_log_failure)
        else:
            self.store.save(row)

    async def page(
        self, owner: str | None, revision: str | None, after: int, size: int
    ) -> list[TaskRow]:
        """Tasks with a number above `after`."""
        return await self._do(self.opened.page, owner, revision, after, size)

    async def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Take over tasks that no process runs."""
        return await self._do(self.opened.adopt, running)

    async def lost(self, running: Sequence[str]) -> list[str]:
        """None: only tasks of processes that have ended are taken over."""
        return []

    async def expire(self, now: float) -> list[str]:
        """Delete expired tasks."""
        return await self._do(self.opened.expire, now)

    async def leave(self, id: str, answers: bytes) -> None:
        """Store answers for the process that runs the task."""
        await self._do(self.opened.leave, id, answers)

    async def collect(self, ids: Sequence[str]) -> list[tuple[str, bytes]]:
        """Take the answers that other processes have stored, if any has changed the store."""
        if not self.is_shared or not await self._do(self.opened.has_changed):
            return []
        return await self._do(self.opened.collect)

    async def tell_cancelled(self, id: str) -> None:
        """Store an empty answer, which stops the task."""
        if self.is_shared:
            await self.leave(id, b"")

    @contextmanager
    def watching(self, id: str, interval: float) -> Iterator[WaitForChange]:
        """Yields a function that waits for the next look at the store."""
        yield partial(asyncio.sleep, interval)


def _log_failure(saving: asyncio.Future[bool]) -> None:
    if not saving.cancelled() and saving.exception() is not None:
        logger.error("a task could not be kept: %s", saving.exception())
