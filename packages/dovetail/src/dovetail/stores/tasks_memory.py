"""An in-memory task store for one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dovetail.errors import LimitError
from dovetail.stores.tasks import FINAL, TaskRow

__all__ = ["MemoryTaskStore", "too_many"]


def too_many(most: int) -> LimitError:
    """The error for an owner that has too many tasks."""
    return LimitError(
        f"Too many tasks: the limit is {most:,} per caller, including finished tasks that have not "
        "expired. Try again later."
    )


class MemoryTaskStore:
    """Stores tasks in a dictionary, without copying the rows."""

    blocks = False
    is_shared = False
    worker = "this process"

    def __init__(self) -> None:
        self._rows: dict[str, TaskRow] = {}
        self._counts: dict[str | None, int] = {}
        self._last = 0

    def add(self, row: TaskRow, most: int) -> None:
        """Add a task."""
        count = self._counts.get(row.owner, 0)
        if count >= most:
            raise too_many(most)
        self._counts[row.owner] = count + 1
        self._last += 1
        row.number, row.worker = self._last, self.worker
        self._rows[row.id] = row

    def get(self, id: str) -> TaskRow | None:
        """The task with this id."""
        return self._rows.get(id)

    def save(self, row: TaskRow) -> bool:
        """Update a task unless it has ended."""
        kept = self._rows.get(row.id)
        if kept is None or kept.status in FINAL:
            return False
        self._rows[row.id] = row
        return True

    def page(self, owner: str | None, revision: str | None, after: int, size: int) -> list[TaskRow]:
        """Tasks in the order of their numbers, which is the order of the dictionary."""
        found = [
            row
            for row in self._rows.values()
            if row.number > after
            and (owner is None or row.owner == owner)
            and (revision is None or row.revision == revision)
        ]
        return found[:size]

    def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Tasks whose event loop ended before they did."""
        return [
            replace(row)
            for row in self._rows.values()
            if row.status not in FINAL and row.id not in running
        ]

    def expire(self, now: float) -> list[str]:
        """Delete expired tasks."""
        over = [
            row for row in self._rows.values() if row.expires is not None and row.expires <= now
        ]
        for row in over:
            del self._rows[row.id]
            self._counts[row.owner] -= 1
            if not self._counts[row.owner]:
                del self._counts[row.owner]
        return [row.id for row in over]

    def leave(self, id: str, answers: bytes) -> None:
        """Does nothing: there are no other processes."""

    def collect(self) -> list[tuple[str, bytes]]:
        """Empty: there are no other processes."""
        return []

    def has_changed(self) -> bool:
        """False: there are no other processes."""
        return False

    def close(self) -> None:
        """Does nothing: the tasks are still there if the server starts again in this process."""
