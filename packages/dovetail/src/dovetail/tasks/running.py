"""The tasks that this process runs: starts them, saves what changes, and stops them.

Some are new, others are those of processes that have ended. This is the interface that a `TaskRun`
has to its server; that of clients is `TaskKeeper`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import StoreError, ToolError
from dovetail.runtime.engine import Engine
from dovetail.runtime.link import NULL_LINK
from dovetail.runtime.runner import TaskRunner
from dovetail.state import Lease
from dovetail.tasks.rows import failed_row, finished_row, reopen_request
from dovetail.tasks.run import KeptRecord, TaskRun, read_asks, view_of
from dovetail.tasks.store import FINAL, LEASE, Stored, TaskRow, TaskStore
from dovetail.tasks.views import Status
from dovetail.tasks.worker import Worker
from dovetail.wire import codec

__all__ = ["RunningTasks"]

logger = logging.getLogger("dovetail")

# Rows that are read at the same time.
_AT_ONCE = 50
# Seconds after which a search has taken so long that other processes may just have been waiting
# for the store as well.
_SLOW = 0.5
# Seconds for which a task that this process cannot run waits for one that can, and between two
# looks at it.
_ABANDONED = 120.0
_LEFT = 15.0
_MAX_ATTEMPTS = 5
# Tasks that are taken over together.
_PART = 100
# Rejected tasks that are remembered, because the store may have them all the same.
_MAX_REJECTED = 1000


class RunningTasks:
    """Runs tasks on the event loop; the `TaskBackend` of each of them."""

    def __init__(self, engine: Engine, is_resumable: Callable[[str], bool]) -> None:
        """`is_resumable`: whether a tool exists in this process and may run again."""
        self._is_resumable = is_resumable
        self._runner = TaskRunner(engine.options)
        # The engine of calls that run as tasks.
        self._ready: Engine = engine._replace(runner=self._runner)
        self.poll_ms: int = max(1, round(engine.options.task_poll * 1000))
        self._live: dict[str, TaskRun] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open_store: TaskStore | None = None
        self._open_worker: Worker | None = None
        self._stopping = False
        # What waits until the store can be used: runs that are not saved, and the ids of tasks
        # that it may have although their clients got an error. One loop tries both again.
        self._unsaved: dict[str, TaskRun] = {}
        self._rejected: deque[str] = deque(maxlen=_MAX_REJECTED)
        # Set while the store can be used, and when that was last not so.
        self._usable = asyncio.Event()
        self._trouble_at = float("-inf")
        # The tasks that clients of this process follow, and the change that was published last;
        # infinite after the end.
        self._followed: OrderedDict[str, float] = OrderedDict()
        # Dead workers with tasks that this process cannot run: when they were found, and when they
        # are looked at again.
        self._left: dict[str, tuple[float, float]] = {}
        # Who waits for a change of a task.
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._background: set[asyncio.Task[None]] = set()

    @property
    def _store(self) -> TaskStore:
        assert self._open_store is not None  # open since the first task or request about one
        return self._open_store

    @property
    def _worker(self) -> Worker:
        assert self._open_worker is not None  # as the store
        return self._open_worker

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        assert self._loop is not None
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- running ----------------------------------------------------------------------------------

    def _prepare(self, call: Call, row: TaskRow, attempts: int = 1) -> TaskRun:
        """Create the run of a call and attach it to the call."""
        run = TaskRun(row, call, self, self._runner, attempts)
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
            if self._stopping and self._is_mine(run):
                await self._leave(run)
            raise
        finally:
            call.phase = call.phase.answered
            if self._is_mine(run):
                del self._live[run.id]
            self._unsaved.pop(run.id, None)

    def _is_mine(self, run: TaskRun) -> bool:
        return self._live.get(run.id) is run

    async def _finish(self, run: TaskRun, answer: bytes) -> None:
        limit = self._ready.options.max_task_result_bytes
        run.row = row = finished_row(run.row, run.call.era, answer, limit)
        run.is_dirty = run.has_changed = True
        # Saved before it is published, so that no published outcome is lost. If the task was
        # ended in the meantime, by this process or another, that outcome stands.
        await self.save(run)
        logger.info("task %s of %r: %s", row.id[:8], row.owner, row.status)

    async def _leave(self, run: TaskRun) -> None:
        """Save how a run has ended at the end of the process; another one runs resumable tasks."""
        if run.row.status not in FINAL:
            if run.row.resumable:
                return
            run.row = failed_row(run.row, "The server was shut down before the task had ended.")
            run.is_dirty = run.has_changed = True
        if self._unsaved.pop(run.id, None) is not None:
            # Nobody tries again any more: once, now.
            run.is_saving = False
        # Otherwise other processes say that this one has ended before it.
        with contextlib.suppress(StoreError):
            await self._save(run, is_patient=False)

    def _stop(self, run: TaskRun) -> None:
        """Stop a run whose row is final, gone, or that of another process."""
        self._live.pop(run.id, None)
        self._unsaved.pop(run.id, None)
        run.call.phase = run.call.phase.stopped
        if run.asyncio_task is not None:
            run.asyncio_task.cancel()
        run.settle()
        self._wake(run.id)

    # -- saving -----------------------------------------------------------------------------------

    def save_soon(self, run: TaskRun) -> None:
        """Save a run, and publish the change, without waiting for it."""
        if run.is_saving or not self._is_mine(run):
            return
        run.is_saving = True
        saving = self._save_newest(run)
        if self._store.is_shared:
            self._in_background(saving)
            return
        # The memory of this process does not wait, so clients are notified of each change.
        with contextlib.suppress(StopIteration):
            saving.send(None)

    async def save(self, run: TaskRun) -> None:
        """Save a run; waits while the store cannot be used."""
        await self._save(run, is_patient=True)
        if not self._is_mine(run):
            # It is cancelled here, before its next step.
            await asyncio.sleep(0)

    async def _save(self, run: TaskRun, *, is_patient: bool) -> None:
        """Save a run; raises StoreError if that is impossible now, unless it is patient."""
        if not run.is_saving and self._is_mine(run):
            run.is_saving = True
            await self._save_newest(run)
        if run.is_saving:
            if run.id in self._unsaved and not is_patient:
                raise StoreError("the task waits until it can be saved")
            await run.settled(is_patient=is_patient)

    async def _save_newest(self, run: TaskRun) -> None:
        """Save a run until there is nothing newer; the loop goes on when the store is back."""
        try:
            while run.is_dirty and self._is_mine(run):
                run.is_dirty = False
                await self._write(run, run.to_save())
        except StoreError as error:
            run.is_dirty = True
            self._unsaved[run.id] = run
            self._note_trouble()
            run.settle(error)
            return
        except BaseException:
            run.is_saving = False
            run.is_dirty = True
            run.settle()
            raise
        run.is_saving = False
        run.settle()

    async def _write(self, run: TaskRun, row: TaskRow) -> None:
        has_changed, run.has_changed = run.has_changed, False
        try:
            if not await self._replace(run, row):
                return
        except BaseException:
            run.has_changed = has_changed or run.has_changed
            raise
        if has_changed:
            self._publish(row, run.version + run.released)
            if self._store.is_shared:
                self._in_background(self._store.tell_changed(row))

    async def _replace(self, run: TaskRun, row: TaskRow) -> bool:
        """Replace the stored row of a run; stops the run and returns False if that is over."""
        while True:
            version = await self._store.save(row, run.version, self._worker.lease)
            if version is not None:
                run.version = version
                return True
            stored = await self._store.get(run.id)
            if stored is not None and stored.row == row:
                # An earlier attempt, whose answer was lost.
                run.version = stored.version
                return True
            if not self._is_ours(stored):
                self._lose(run, stored)
                return False
            assert stored is not None
            if stored.version == run.version:
                # So the lease was lost.
                await self._worker.hold()
                if not self._is_mine(run):
                    return False
            run.version = stored.version

    def _is_ours(self, stored: Stored | None) -> bool:
        """Whether this process may save a task."""
        if stored is None:
            return False
        return stored.row.worker == self._worker.id and stored.row.status not in FINAL

    def _lose(self, run: TaskRun, stored: Stored | None) -> None:
        """Stop a run that has no row any more, or one that this process must not change."""
        if not self._is_mine(run):
            return
        if stored is not None and stored.row.status not in FINAL:
            logger.warning(
                "task %s of %r: another process has taken it over", run.id[:8], run.row.owner
            )
        elif stored is not None:
            self._publish(*stored)
        self._stop(run)

    def _note_trouble(self) -> None:
        assert self._loop is not None
        self._usable.clear()
        self._trouble_at = self._loop.time()

    async def _save_waiting(self) -> None:
        """Save what has waited until the store could be used; raises StoreError."""
        waiting = list(self._unsaved.values())
        # The first one alone: mostly the others cannot be saved either.
        for runs in (waiting[:1], *_parts(waiting[1:], _AT_ONCE)):
            for run in runs:
                self._unsaved.pop(run.id, None)
            await asyncio.gather(*map(self._save_newest, runs))
            if any(run.id in self._unsaved for run in runs):
                raise StoreError("a task could not be saved")
        while self._rejected:
            await self._store.delete(self._rejected[0])
            self._rejected.popleft()

    # -- looking ----------------------------------------------------------------------------------

    async def hold(self, run: TaskRun) -> None:
        """Wait until this process is seen to hold the task."""
        while self._is_mine(run):
            try:
                await self._worker.hold()
                break
            except StoreError:
                self._note_trouble()
                await self._usable.wait()
        if not self._is_mine(run):
            # It is cancelled here, before the step.
            await asyncio.sleep(0)
            raise asyncio.CancelledError

    async def _check_all(self) -> None:
        """Stop the runs that are over or have been taken over."""
        for runs in _parts(list(self._live.values()), _AT_ONCE):
            await asyncio.gather(*map(self._check, runs))

    async def _check(self, run: TaskRun) -> None:
        if run.asyncio_task is None:
            return  # It is being created.
        stored = await self._store.get(run.id)
        if not self._is_ours(stored) and (stored is None or stored.row != run.row):
            self._lose(run, stored)

    async def _look_at(self, run: TaskRun) -> None:
        """Check a run, and take the answers that other processes have stored for it."""
        await self._check(run)
        if self._is_mine(run):
            await self._take_answers(run)

    async def _take_answers(self, run: TaskRun) -> None:
        asks = run.asks
        found = await self._store.find_answers(run.id, asks) if asks else {}
        if not found:
            return
        for key, answer in found.items():
            if isinstance(answer, str):
                run.refuse(key, ToolError(answer))
            else:
                run.answer(key, answer)
        await self._save(run, is_patient=False)
        await self._store.forget_answers(run.id, [asks[key] for key in found])

    # -- taking over --------------------------------------------------------------------------

    async def _search(self) -> None:
        """Take over the tasks of dead processes."""
        assert self._loop is not None
        if not self._store.is_shared:
            await self._search_memory()
            return
        now = self._loop.time()
        if now - self._trouble_at < LEASE:
            # All processes could not report; they can now.
            return
        workers = await self._store.workers()
        self._left = {id: left for id, left in self._left.items() if id in workers}
        for dead in workers:
            is_left = dead in self._left and now < self._left[dead][1]
            if dead == self._worker.id or is_left:
                continue
            lease = await self._store.acquire(dead, self._worker.id)
            if lease is None:
                continue
            try:
                if self._loop.time() - now > _SLOW:
                    self._trouble_at = self._loop.time()
                    return
                await self._take_over(dead, lease)
            finally:
                await self._store.release(lease)

    async def _search_memory(self) -> None:
        """Take over the tasks of an event loop that has ended; there is no other process."""
        if self._live or self._worker.lease is not None:
            return
        found = [stored async for stored in self._store.scan() if stored.row.status not in FINAL]
        for stored in found:
            await self._inherit(stored, None, is_abandoned=True)

    async def _take_over(self, dead: str, lease: Lease) -> None:
        assert self._loop is not None
        now = self._loop.time()
        found_at = self._left.get(dead, (now, 0.0))[0]
        is_abandoned = now - found_at >= _ABANDONED
        keeping = asyncio.create_task(self._keep(lease))
        try:
            found = [
                stored
                async for stored in self._store.scan()
                if stored.row.worker == dead and stored.row.status not in FINAL
            ]
        finally:
            keeping.cancel()
        count = 0
        for start in range(0, len(found), _PART):
            if not await self._store.renew(lease):
                return
            # After that of the dead one: what is saved under that lease has a worker that lives.
            await self._worker.hold()
            taken = await asyncio.gather(
                *(
                    self._inherit(stored, lease, is_abandoned=is_abandoned)
                    for stored in found[start : start + _PART]
                )
            )
            count += sum(taken)
        if count < len(found):
            self._left[dead] = (found_at, now + _LEFT)
        else:
            await self._store.change_workers(remove=dead)
        if self._ready.processes is not None:
            self._ready.processes.taken_over += count

    async def _keep(self, lease: Lease) -> None:
        """Keep the lease of a dead worker, and that of this one, until it is cancelled."""
        while True:
            await asyncio.sleep(LEASE / 4)
            with contextlib.suppress(StoreError):
                await self._store.renew(lease)
                if self._worker.lease is not None:
                    await self._worker.hold()

    async def _inherit(self, stored: Stored, lease: Lease | None, *, is_abandoned: bool) -> bool:
        """Run a task again or fail it; False if it is left to another process."""
        row = stored.row
        if not row.resumable:
            return await self._fail(
                stored, lease, "The process that ran the task has ended before it."
            )
        try:
            call = reopen_request(row, self._ready.eras)
            kept = KeptRecord()
            if row.record is not None:
                kept = codec.decode_as(KeptRecord, row.record)
            asks = read_asks(row.asks)
        except (msgspec.DecodeError, KeyError) as error:
            logger.error("task %s: its stored request is damaged: %s", row.id[:8], error)
            return await self._fail(stored, lease, "The stored request of the task is damaged.")
        if call is None or not self._is_resumable(row.tool):
            if not is_abandoned:
                return False
            return await self._fail(
                stored,
                lease,
                "The process that ran the task has ended before it, and no process that can run "
                f"{row.tool!r} again was found.",
            )
        if kept.attempts >= _MAX_ATTEMPTS:
            return await self._fail(
                stored, lease, f"{kept.attempts} processes have run the task and ended before it."
            )
        for key, answer in (await self._store.find_answers(row.id, asks)).items():
            if not isinstance(answer, str):
                kept.take_answers(asks, {key: answer})
        # Its questions stay in the row: clients may answer them before they are asked again.
        row = replace(row, status=Status.WORKING.value, updated=time.time(), worker=self._worker.id)
        run = self._prepare(call, row, kept.attempts + 1)
        run.asked_before = asks
        call.link = NULL_LINK
        call.record.answers.update(kept.answered)
        call.record.results.update(kept.results)
        self._live[row.id] = run
        try:
            version = await self._store.save(run.to_save(), stored.version, lease)
            if version is not None:
                logger.info("task %s of %r: runs again", row.id[:8], row.owner)
                run.version = version
                self._begin(run)
                self._in_background(self._store.tell_changed(row))
        finally:
            if run.asyncio_task is None:
                self._live.pop(row.id, None)
        return version is not None

    async def _fail(self, stored: Stored, lease: Lease | None, reason: str) -> bool:
        row = failed_row(stored.row, reason)
        version = await self._store.save(row, stored.version, lease)
        if version is None:
            return False
        logger.info("task %s of %r: failed: %s", row.id[:8], row.owner, reason)
        self._publish(row, version)
        await self._store.tell_changed(row)
        return True

    # -- telling ----------------------------------------------------------------------------------

    def _publish(self, row: TaskRow, version: int) -> None:
        """Notify those who wait for a task in this process."""
        self._wake(row.id)
        if self._is_news(row.id, row.status, row.updated):
            view = view_of(row, version, self.poll_ms)
            self._ready.bus.publish(ChangeEvent(ChangeKind.ITEM, row.id, view))

    def _is_news(self, id: str, status: str, updated: float) -> bool:
        """Whether clients do not know a change yet, which several others may find."""
        known = self._followed.get(id)
        if known is not None:
            if updated <= known:
                return False
            self._followed[id] = math.inf if status in FINAL else updated
        return True

    def _wake(self, id: str) -> None:
        for changed in self._watchers.get(id, ()):
            changed.set()

    @contextlib.contextmanager
    def _watching(self, id: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set when a task may have changed."""
        changed = asyncio.Event()
        watchers = self._watchers.setdefault(id, set())
        watchers.add(changed)
        try:
            yield changed
        finally:
            watchers.discard(changed)
            if not watchers and self._watchers.get(id) is watchers:
                del self._watchers[id]


def _parts(runs: list[TaskRun], size: int) -> Iterator[list[TaskRun]]:
    for start in range(0, len(runs), size):
        yield runs[start : start + size]
