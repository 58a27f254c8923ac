"""The tasks that this process runs: starts them, saves how they end, and stops them.

This is the interface that a `TaskRun` has to its server. Which tasks run here is decided by
`TaskKeeper`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import StoreError
from dovetail.runtime.engine import Engine
from dovetail.runtime.runner import TaskRunner
from dovetail.stores.tasks import FINAL, TaskRow
from dovetail.tasks.outcomes import failed_row, finished_row
from dovetail.tasks.rows import TaskRows
from dovetail.tasks.run import TaskRun, view_of
from dovetail.tasks.views import TaskView

__all__ = ["RunningTasks"]

logger = logging.getLogger("dovetail")


class RunningTasks:
    """Runs tasks on the event loop; the `TaskBackend` of each of them."""

    def __init__(self, rows: TaskRows, is_resumable: Callable[[str], bool]) -> None:
        self._rows = rows
        self._is_resumable = is_resumable
        self._engine: Engine | None = None
        self._runner: TaskRunner | None = None
        self._live: dict[str, TaskRun] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = False
        self.poll_ms = 0

    def attach(self, engine: Engine) -> None:
        """Set the engine whose calls may become tasks."""
        self._runner = TaskRunner(engine.options)
        self._engine = engine._replace(runner=self._runner)
        self.poll_ms = max(1, round(engine.options.task_poll * 1000))

    @property
    def _ready(self) -> Engine:
        assert self._engine is not None  # a server attaches its engine in its constructor
        return self._engine

    @property
    def is_shared(self) -> bool:
        """Whether other processes may read the store."""
        return self._rows.is_shared

    # -- running ----------------------------------------------------------------------------------

    def _prepare(self, call: Call, row: TaskRow, attempts: int = 1) -> TaskRun:
        """Create the run of a call and attach it to the call."""
        assert self._runner is not None
        resumable = self._is_resumable(call.params.name)  # type: ignore[attr-defined]
        run = TaskRun(row, call, self, self._runner, resumable=resumable, attempts=attempts)
        call.detached, call.services = run, self._ready
        return run

    def _begin(self, run: TaskRun) -> None:
        assert self._loop is not None
        run.asyncio_task = self._loop.create_task(self._run(run))

    async def _run(self, run: TaskRun) -> None:
        call = run.call
        try:
            answer = self._ready.dispatcher.answer(call)
            await self._finish(run, answer if isinstance(answer, bytes) else await answer)
        except asyncio.CancelledError:
            # Either the task was stopped and its row already says so, or the server shuts down.
            is_left = self._stopping and self._live.get(run.id) is run
            if is_left and not run.resumable and run.row.status not in FINAL:
                with contextlib.suppress(StoreError):
                    await self._fail(run.row, "The server was shut down before the task had ended.")
            raise
        finally:
            call.phase = call.phase.answered
            if self._live.get(run.id) is run:
                del self._live[run.id]
            if run.row.status not in FINAL and not self._stopping:
                # Those who wait for it read its row in the store, if it still exists.
                run.wake()

    async def _finish(self, run: TaskRun, answer: bytes) -> None:
        limit = self._ready.options.max_task_result_bytes
        row = finished_row(run.row, run.call.era, answer, limit)
        # Saved before it is published, so that no published outcome is lost. Saving fails if the
        # task was ended in the meantime, by this process or another; that outcome stands.
        if await self._rows.save_surely(row):
            run.show(row)
            logger.info("task %s of %r: %s", row.id[:8], row.owner, row.status)

    async def _fail(self, row: TaskRow, reason: str) -> None:
        failed = failed_row(row, reason)
        if await self._rows.save(failed):
            self._publish_row(failed)
        logger.info("task %s of %r: failed: %s", row.id[:8], row.owner, reason)

    def _stop(self, run: TaskRun, row: TaskRow) -> None:
        """Stop a run whose final row is already in the store, or whose row was deleted."""
        self._abandon(run)
        run.show(row)

    def _abandon(self, run: TaskRun) -> None:
        self._live.pop(run.id, None)
        run.call.phase = run.call.phase.stopped
        if run.asyncio_task is not None:
            run.asyncio_task.cancel()

    def _publish_row(
        self, row: TaskRow, load: Callable[[], Awaitable[TaskView]] | None = None
    ) -> None:
        if self._rows.notifies:
            view = view_of(row, self.poll_ms)
            self._ready.bus.publish(ChangeEvent(ChangeKind.ITEM, row.id, view, load))

    # -- the interface for running tasks ----------------------------------------------------------

    @property
    def notifies(self) -> bool:
        """Whether changes are told to other processes as they are saved."""
        return self._rows.notifies

    def publish(self, run: TaskRun) -> None:
        """Notify subscribers that the task has changed."""
        self._ready.bus.publish(ChangeEvent(ChangeKind.ITEM, run.id, run.view()))

    async def save(self, row: TaskRow) -> bool:
        """Save a row; False if the task has ended or this process must not run it any more."""
        return await self._rows.save_surely(row)

    def lose(self, run: TaskRun) -> None:
        """Stop a run that must not go on, because its row could not be saved."""
        if self._rows.notifies and self._live.get(run.id) is run:
            self._abandon(run)

    def save_soon(self, row: TaskRow) -> None:
        """Save a row without waiting for it."""
        self._rows.save_soon(row)
