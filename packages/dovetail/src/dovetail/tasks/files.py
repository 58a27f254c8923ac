"""Selects the task store of a server and the path of its file."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from dovetail.errors import StoreError, TransportError
from dovetail.stores.shared_stores import SharedStores
from dovetail.stores.tasks import SharedTaskStore, TaskRow, TaskStore
from dovetail.stores.tasks_memory import MemoryTaskStore
from dovetail.tasks.rows import LocalTaskRows, TaskListener, TaskRows, WaitForChange

__all__ = [
    "SharedTaskRows",
    "find_task_file",
    "make_task_rows",
    "open_task_store",
]

# Seconds between two attempts to save, and until a task that is watched is read again even if no
# message about it came.
_RETRY = 0.1
_LOOK_AGAIN = 2.0
# Seconds that closing waits for changes that are not saved yet.
_CLOSING = 1.0


class SharedTaskRows:
    """`TaskRows` of a `SharedTaskStore`."""

    is_shared = True
    notifies = True

    def __init__(self, store: SharedTaskStore) -> None:
        self._store = store
        self.is_open = self._is_listening = False
        self._listener: TaskListener | None = None
        self._watchers: dict[str, set[asyncio.Event]] = {}
        # The newest row of each task that waits to be saved, and the asyncio task that saves it.
        self._newest: dict[str, tuple[TaskRow, int]] = {}
        self._saving: dict[str, asyncio.Task[None]] = {}
        self.add = store.add
        self.get = store.get
        self.page = store.page
        self.adopt = store.adopt
        self.lost = store.lost
        self.expire = store.expire
        self.leave = store.leave
        self.collect = store.collect

    async def open(self, listener: TaskListener | None = None) -> None:
        """Listen to other processes; the server's lifespan opens the store itself."""
        if not self._is_listening:
            self._is_listening = True
            self._store.listen(self._changed, self._answered, self._look_again)
        self._listener = listener
        self.is_open = True

    async def close(self) -> None:
        """Save what waits, if that is possible."""
        self.is_open = False
        saving = list(self._saving.values())
        if saving:
            await asyncio.wait(saving, timeout=_CLOSING)
            for task in saving:
                task.cancel()

    # -- saving ---------------------------------------------------------------------------------

    async def save(self, row: TaskRow) -> bool:
        """Save a row now; raises StoreError."""
        saved = await self._store.save(row, self._store.next_turn())
        self._wake(row.id)
        return saved

    async def save_surely(self, row: TaskRow) -> bool:
        """Save a row, if necessary when the store can be used again."""
        turn = self._store.next_turn()
        while True:
            saved = await self._try(row, turn)
            if saved is not None:
                return saved
            await asyncio.sleep(_RETRY)

    def save_soon(self, row: TaskRow) -> None:
        """Save a row without waiting for it."""
        if not self.is_open:
            return
        self._newest[row.id] = (row, self._store.next_turn())
        if row.id not in self._saving:
            self._saving[row.id] = asyncio.create_task(self._save_newest(row.id))

    async def _save_newest(self, id: str) -> None:
        try:
            while id in self._newest:
                row, turn = self._newest[id]
                if await self._try(row, turn) is None:
                    await asyncio.sleep(_RETRY)
                elif self._newest[id][1] == turn:
                    del self._newest[id]
        finally:
            self._newest.pop(id, None)
            del self._saving[id]

    async def _try(self, row: TaskRow, turn: int) -> bool | None:
        """The outcome of a save; None if it should be tried again."""
        try:
            saved = await self._store.save(row, turn)
        except StoreError:
            is_over = row.expires is not None and row.expires <= time.time()
            return False if is_over else None
        self._wake(row.id)
        return saved

    async def tell_cancelled(self, id: str) -> None:
        """Does nothing: saving the row has told the other processes."""

    # -- messages of other processes --------------------------------------------------------------

    @contextmanager
    def watching(self, id: str, interval: float) -> Iterator[WaitForChange]:
        """Yields a function that waits for the next change of the task."""
        changed = asyncio.Event()
        watchers = self._watchers.setdefault(id, set())
        watchers.add(changed)
        try:
            yield partial(_wait, changed)
        finally:
            watchers.discard(changed)
            if not watchers:
                self._watchers.pop(id, None)

    def _wake(self, id: str) -> None:
        for changed in self._watchers.get(id, ()):
            changed.set()

    def _changed(self, row: TaskRow) -> None:
        self._wake(row.id)
        if self.is_open and self._listener is not None:
            self._listener.changed_elsewhere(row)

    def _answered(self, id: str) -> None:
        if self.is_open and self._listener is not None:
            self._listener.answered_elsewhere([id])

    def _look_again(self) -> None:
        for id in self._watchers:
            self._wake(id)
        if self.is_open and self._listener is not None:
            self._listener.answered_elsewhere(None)


async def _wait(changed: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_LOOK_AGAIN):
            await changed.wait()
    changed.clear()


logger = logging.getLogger("dovetail")

MEMORY = "memory"


def find_task_file(chosen: str | None, server: str) -> Path | None:
    """Return the path of a server's task file; None if tasks are kept in memory."""
    if chosen == MEMORY:
        return None
    if chosen is not None:
        return Path(chosen)
    # XDG Base Directory Specification: state that should survive restarts belongs here.
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "dovetail" / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', server)}.tasks.sqlite3"


def open_task_store(chosen: str | None, server: str) -> TaskStore:
    """Open the task store; raises TransportError if the chosen file cannot be used.

    If no file was chosen and the default one cannot be used, tasks are kept in memory.
    """
    try:
        file = find_task_file(chosen, server)
        if file is None:
            return MemoryTaskStore()
        # Imported late: it takes 4 ms, which servers without tasks should not pay.
        from dovetail.stores.tasks_sqlite import SqliteTaskStore  # noqa: PLC0415

        return SqliteTaskStore(file)
    except (TransportError, RuntimeError) as error:
        if chosen is not None:
            raise
        # The file is only a default, and many containers have no writable home directory.
        logger.warning("%s; they are kept in memory and lost with this process", error)
        return MemoryTaskStore()


def make_task_rows(chosen: str | None, server: str, shared: SharedStores | None) -> TaskRows:
    """Return the task store of a server: the one of its cluster, unless another was chosen."""
    if shared is not None and chosen is None:
        return SharedTaskRows(shared.tasks)
    return LocalTaskRows(lambda: open_task_store(chosen, server))
