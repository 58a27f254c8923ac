"""`Worker`: the lease that shows that this process lives, and may save the tasks that it runs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from dovetail.errors import StoreError
from dovetail.state import Lease
from dovetail.tasks.store import TaskStore

__all__ = ["Worker"]


class Worker:
    """This process, in one event loop, as the store knows it.

    It has a lease only while it runs tasks, so that an idle server writes nothing.
    """

    def __init__(self, store: TaskStore, check_tasks: Callable[[], Awaitable[None]]) -> None:
        """`check_tasks` stops the tasks that others have taken over while the lease was lost."""
        self.id: str = secrets.token_hex(8)
        self.lease: Lease | None = None
        self._store = store
        self._check_tasks = check_tasks
        # Whether the lease may be used: others know this worker, and its tasks are checked.
        self._is_ready = False
        self._turn = asyncio.Lock()

    async def hold(self) -> Lease:
        """Renew the lease, or get one; raises StoreError.

        If it was lost, because the process was paused or the store away, nobody need have taken
        the tasks over. So it is acquired again, and each task is looked at before it goes on.
        """
        lease = self.lease
        if lease is not None and self._is_ready and await self._store.renew(lease):
            return lease
        async with self._turn:
            if self.lease is not lease and self._is_ready:
                # Somebody else has waited for the same.
                assert self.lease is not None
                return self.lease
            self._is_ready = False
            if self.lease is None or not await self._store.renew(self.lease):
                acquired = await self._store.acquire(self.id, self.id)
                if acquired is None:
                    raise StoreError("another process is taking over the tasks of this one")
                self.lease = acquired
            await self._store.change_workers(add=self.id)
            if lease is not None:
                await self._check_tasks()
            self._is_ready = True
            return self.lease

    async def leave(self, *, has_tasks: bool = False) -> None:
        """Give the lease back; with `has_tasks`, other processes take them over at once."""
        async with self._turn:
            lease, self.lease, self._is_ready = self.lease, None, False
            if lease is None:
                return
            try:
                if not has_tasks:
                    await self._store.change_workers(remove=self.id)
            finally:
                await self._store.release(lease)
