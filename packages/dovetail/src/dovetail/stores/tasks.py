"""Where tasks are kept: what is known of one, and the interface of a store.

A store keeps rows and knows neither the protocol nor an event loop: its methods are plain, and
one that `blocks` is called from a thread. A row in a final status never changes again, whoever
tries; that is the store's promise, because several processes may share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["ASLEEP", "FINAL", "TaskRow", "TaskStore"]

# The statuses that stay.
FINAL = frozenset({"completed", "failed", "cancelled"})

# In the place of a process: nobody runs it, and nobody should until its client has answered.
ASLEEP = ""


@dataclass(slots=True, kw_only=True)
class TaskRow:
    """One task. Times are seconds since 1970; what is bytes is nobody's business here."""

    id: str
    # Who made it; None for somebody who cannot be told from others.
    owner: str | None
    revision: str
    status: str = "working"
    message: str | None = None
    created: float
    updated: float
    # When it is to be forgotten; None: never.
    expires: float | None
    # The process that runs it; None: nobody does.
    worker: str | None = None
    # What it takes to run it again: the request, and what has been done and answered so far.
    request: bytes
    record: bytes | None = None
    # The questions that are open.
    asks: bytes | None = None
    result: bytes | None = None
    error: bytes | None = None
    # Its place among all tasks, given by the store.
    number: int = 0


class TaskStore(Protocol):
    """Keeps tasks."""

    # Whether a call may take long enough to be made from a thread.
    blocks: bool
    # Whether other processes may change it.
    is_shared: bool
    # The name of this process in it.
    worker: str

    def add(self, row: TaskRow, most: int) -> None:
        """Keep a new task; raises LimitError if its owner has `most` already."""

    def get(self, id: str) -> TaskRow | None:
        """The task of this id."""

    def save(self, row: TaskRow) -> bool:
        """Keep everything that may change of a task; False if it has ended or is gone."""

    def page(self, owner: str | None, revision: str | None, after: int, size: int) -> list[TaskRow]:
        """Tasks by number, from after one; of this owner and revision, unless that is None."""

    def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Tasks that nobody runs, now this process's; `running` are those it runs already."""

    def wake(self, id: str) -> bool:
        """Take a task that sleeps; False if somebody else has."""

    def expire(self, now: float) -> list[str]:
        """Forget the tasks whose time is up; returns their ids."""

    def leave(self, id: str, answers: bytes) -> None:
        """Answers for the process that runs the task."""

    def collect(self) -> list[tuple[str, bytes]]:
        """The answers that were left for tasks of this process, each handed out once."""

    def has_changed(self) -> bool:
        """Whether another process has changed anything since this was asked last."""

    def close(self) -> None:
        """Let go of everything; what this process ran is nobody's now."""
