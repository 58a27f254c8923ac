"""The task store: its rows and its interface.

A store does not know the protocol. The methods of a `TaskStore` are synchronous, and one that
`blocks` is called from a thread; those of a `SharedTaskStore`, which the processes of a cluster
share, are coroutines. A row in a final status never changes again; the store guarantees it, because
several processes may share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["FINAL", "SharedTaskStore", "TaskRow", "TaskStore"]

# Statuses that do not change any more.
FINAL = frozenset({"completed", "failed", "cancelled"})


@dataclass(slots=True, kw_only=True)
class TaskRow:
    """One task. Times are Unix timestamps; the store does not read the bytes fields."""

    id: str
    # The principal that created it; None if callers are anonymous.
    owner: str | None
    revision: str
    status: str = "working"
    message: str | None = None
    created: float
    updated: float
    # When it is deleted; None: never.
    expires: float | None
    # The process that runs it; None: no process.
    worker: str | None = None
    # What is needed to run it again: the request, and the record of steps done and answers.
    request: bytes
    record: bytes | None = None
    # The pending input requests.
    asks: bytes | None = None
    result: bytes | None = None
    error: bytes | None = None
    # The sequence number, assigned by the store.
    number: int = 0


class TaskStore(Protocol):
    """A task store."""

    # Whether methods block and must be called from a thread.
    blocks: bool
    # Whether other processes may change the store.
    is_shared: bool
    # The name of this process in the store.
    worker: str

    def add(self, row: TaskRow, most: int) -> None:
        """Add a task; raises LimitError if its owner already has `most` tasks."""

    def get(self, id: str) -> TaskRow | None:
        """The task with this id."""

    def save(self, row: TaskRow) -> bool:
        """Update a task; False if it has ended or does not exist."""

    def page(self, owner: str | None, revision: str | None, after: int, size: int) -> list[TaskRow]:
        """Tasks with a number above `after`, filtered by owner and revision unless None."""

    def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Take over tasks that no process runs; `running` are those this process runs already."""

    def expire(self, now: float) -> list[str]:
        """Delete expired tasks; returns their ids."""

    def leave(self, id: str, answers: bytes) -> None:
        """Store answers for the process that runs the task."""

    def collect(self) -> list[tuple[str, bytes]]:
        """Take the stored answers for tasks of this process; each is returned once."""

    def has_changed(self) -> bool:
        """Whether another process has changed the store since the last call."""

    def close(self) -> None:
        """Close the store; other processes can then take over the tasks of this one."""


class SharedTaskStore(Protocol):
    """The task store of a cluster; the coroutines raise StoreError while it cannot be used.

    A process holds the tasks that it runs until it ends or has not reported for some seconds;
    then another process takes them over.
    """

    @property
    def worker(self) -> str:
        """The name of this process."""

    def listen(
        self,
        on_change: Callable[[TaskRow], None],
        on_answers: Callable[[str], None],
        on_reset: Callable[[], None],
    ) -> None:
        """Set the functions that are called for messages of other processes.

        `on_change` gets a row without its request, record, questions and result, `on_answers` the
        id of a task that has answers to collect. `on_reset`: messages may have been lost.
        """

    def next_turn(self) -> int:
        """The number of the next save: a save never replaces one with a higher number."""

    async def add(self, row: TaskRow, most: int) -> None:
        """Add a task; raises LimitError if its owner already has `most` tasks."""

    async def get(self, id: str) -> TaskRow | None:
        """The task with this id."""

    async def save(self, row: TaskRow, turn: int) -> bool:
        """Update a task; False if it has ended, does not exist, or another process holds it.

        Every process may end it as cancelled.
        """

    async def page(
        self, owner: str | None, revision: str | None, after: int, size: int
    ) -> list[TaskRow]:
        """Tasks with a number above `after`, without requests, records and results."""

    async def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Take over tasks of dead processes, and those of this one that are not `running`."""

    async def lost(self, running: Sequence[str]) -> list[str]:
        """Those of the tasks that this process does not hold any more."""

    async def expire(self, now: float) -> list[str]:
        """Delete expired tasks; returns their ids."""

    async def leave(self, id: str, answers: bytes) -> None:
        """Store answers for the process that holds the task."""

    async def collect(self, ids: Sequence[str]) -> list[tuple[str, bytes]]:
        """Take the stored answers for these tasks; each is returned once."""
