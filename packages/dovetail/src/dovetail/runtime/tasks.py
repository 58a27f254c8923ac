"""The tasks of a server: creates, runs, suspends, resumes and expires them.

A task runs in its own asyncio task, so it outlives its request and its connection. A final status
is saved before it is published. If a process ends while it runs tasks, another process that shares
the store takes them over: it runs them again if the tool is resumable, and otherwise marks them as
failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec import Raw

from dovetail.core.call import Answer, Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.cursor import decode_cursor, encode_cursor
from dovetail.core.principal import owner_of
from dovetail.core.tasks import Status, TaskPage, TaskView
from dovetail.errors import InternalError, InvalidParamsError, LimitError
from dovetail.runtime.engine import Engine
from dovetail.runtime.kept_requests import keep_request, reopen_request
from dovetail.runtime.link import NULL_LINK
from dovetail.runtime.runner import TaskRunner
from dovetail.runtime.task_outcomes import cancelled_row, failed_row, finished_row
from dovetail.runtime.task_rows import TaskRows
from dovetail.runtime.task_run import (
    KeptRecord,
    TaskCall,
    TaskRun,
    encode_asks,
    read_asks,
    view_of,
)
from dovetail.stores.tasks import ASLEEP, FINAL, TaskRow, TaskStore
from dovetail.wire import codec

__all__ = ["TaskKeeper"]

logger = logging.getLogger("dovetail")

T = TypeVar("T")

# Seconds between two checks for changes by other processes: while tasks run here, and otherwise.
# The third is the interval of the search for expired tasks and for tasks of ended processes.
_BUSY_TICK = 0.1
_IDLE_TICK = 1.0
_SWEEP = 2.0
_MAX_ATTEMPTS = 5
_PAGE_SIZE = 50
# 192 random bits: ids cannot be guessed (tasks.id.entropy, xtasks.id-entropy).
_ID_BYTES = 24


class TaskKeeper:
    """Stores and runs the tasks of one server."""

    def __init__(
        self, open_store: Callable[[], TaskStore], is_resumable: Callable[[str], bool]
    ) -> None:
        self._rows = TaskRows(open_store)
        self._is_resumable = is_resumable
        self._engine: Engine | None = None
        self._runner: TaskRunner | None = None
        self._live: dict[str, TaskRun] = {}
        # Claimed in the store by this process but not running yet: `_take_over` must skip them.
        self._claimed: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._maintenance: asyncio.Task[None] | None = None
        self._starting: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
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

    # -- startup and shutdown ---------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start on entry, taking over tasks of ended processes; close on exit."""
        await self._start()
        try:
            yield
        finally:
            await self.close()

    async def _start(self) -> TaskStore:
        loop = asyncio.get_running_loop()
        if self._rows.store is not None and self._loop is loop and self._maintenance is not None:
            return self._rows.store
        if self._starting is None or self._starting[0] is not loop:
            self._starting = (loop, asyncio.Lock())
        # Concurrent first calls open the store once.
        async with self._starting[1]:
            return await self._open(loop)

    async def _open(self, loop: asyncio.AbstractEventLoop) -> TaskStore:
        await self._rows.open()
        if self._loop is not loop or self._maintenance is None:
            if self._loop is not loop:
                # The server was used in an earlier event loop, whose tasks no longer run.
                self._live.clear()
            self._loop, self._stopping = loop, False
            self._maintenance = loop.create_task(self._maintain())
            await self._take_over()
        return self._rows.opened

    async def close(self) -> None:
        """Stop all tasks; resumable ones stay in the store for the next process."""
        if self._maintenance is None or self._loop is not asyncio.get_running_loop():
            return
        self._stopping = True
        self._maintenance.cancel()
        self._maintenance = None
        for run in [run for run in self._live.values() if run.is_idle]:
            await self._suspend(run)
        runs = list(self._live.values())
        for run in runs:
            run.call.cancelled = True
            if run.asyncio_task is not None:
                run.asyncio_task.cancel()
        if runs:
            tasks = [run.asyncio_task for run in runs if run.asyncio_task is not None]
            await asyncio.wait(tasks, timeout=self._ready.options.grace or 0.05)
        self._loop = None
        self._live.clear()
        await self._rows.close()

    async def _maintain(self) -> None:
        """Collect answers, suspend, expire and take over tasks, until the server closes."""
        swept = time.monotonic()
        while True:
            store = self._rows.store
            if store is None:
                return
            busy = store.is_shared and bool(self._live)
            await asyncio.sleep(_BUSY_TICK if busy else _IDLE_TICK)
            try:
                if busy and await self._rows.do(store.has_changed):
                    for id, answers in await self._rows.do(store.collect):
                        self._collected(id, answers)
                if time.monotonic() - swept >= _SWEEP:
                    swept = time.monotonic()
                    for run in [run for run in self._live.values() if self._should_suspend(run)]:
                        await self._suspend(run)
                    await self._expire(store)
                    if store.is_shared:
                        await self._take_over()
            except Exception:
                logger.exception("task maintenance failed; it will be retried")

    def _collected(self, id: str, answers: bytes) -> None:
        run = self._live.get(id)
        if run is None:
            return
        if not answers:
            self._stop(run, replace(run.row, status=Status.CANCELLED.value, updated=time.time()))
            return
        for key, answer in codec.decode_as(dict[str, Raw], answers).items():
            run.answer(key, answer)

    async def _expire(self, store: TaskStore) -> None:
        for id in await self._rows.do(store.expire, time.time()):
            run = self._live.get(id)
            if run is not None:
                # tasks.ttl-delete: regardless of its status
                self._stop(run, run.row)

    # -- creating and running -----------------------------------------------------------------

    async def create(self, call: Call) -> TaskView:
        """Create a task from a request and start it."""
        ttl = self._ttl(call)
        store = await self._start()
        options = self._ready.options
        now = time.time()
        row = TaskRow(
            id=secrets.token_urlsafe(_ID_BYTES),
            owner=owner_of(call.principal),
            revision=call.era.revision.date,
            created=now,
            updated=now,
            expires=now + ttl,
            request=b"",
        )
        own = TaskCall(call.method, call.received, call.era, call.peer)
        run = self._prepare(own, row)
        own.link = call.link.after_response()
        own.origin, own.principal = call.origin, call.principal
        own.record.answers.update(call.record.answers)
        own.record.results.update(call.record.results)
        # A store in memory needs the request only to resume a suspended task.
        if store.is_shared or run.can_suspend:
            row.request = keep_request(call)
        if run.resumable:
            row.record = run.with_record().record
        self._live[row.id] = run
        try:
            await self._rows.do(store.add, row, options.tasks_per_owner)
        except BaseException as error:
            del self._live[row.id]
            if isinstance(error, LimitError):
                # The client expects a task or a JSON-RPC error; a tool result would be neither.
                raise InternalError(str(error)) from None
            raise
        # tasks.audit-log
        logger.info("task %s of %r: %s begins", row.id[:8], row.owner, _label(call))
        view = run.view()
        self._begin(run)
        return view

    def _ttl(self, call: Call) -> float:
        # tasks.ttl-override, tasks.limits: at most what the server allows
        options = self._ready.options
        wanted = call.era.tasks.wanted_ttl_ms(call)
        if wanted is None:
            return min(options.task_ttl, options.task_max_ttl)
        return min(max(wanted / 1000, 0.001), options.task_max_ttl)

    def _prepare(self, call: Call, row: TaskRow, attempts: int = 1) -> TaskRun:
        """Create the run of a call and attach it to the call."""
        assert self._runner is not None
        resumable = self._is_resumable(call.params.name)  # type: ignore[attr-defined]
        run = TaskRun(row, call, self, self._runner, resumable=resumable, attempts=attempts)
        call.task, call.services = run, self._ready
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
                await self._fail(run.row, "The server was shut down before the task had ended.")
            raise
        finally:
            call.over = True
            if self._live.get(run.id) is run:
                del self._live[run.id]

    async def _finish(self, run: TaskRun, answer: bytes) -> None:
        limit = self._ready.options.max_task_result_bytes
        row = finished_row(run.row, run.call.era, answer, limit)
        # Saved before it is published, so that no published outcome is lost. Saving fails if the
        # task was ended in the meantime, by this process or another; that outcome stands.
        if await self.save(row):
            run.show(row)
            logger.info("task %s of %r: %s", row.id[:8], row.owner, row.status)

    async def _fail(self, row: TaskRow, reason: str) -> None:
        await self.save(failed_row(row, reason))
        logger.info("task %s of %r: failed: %s", row.id[:8], row.owner, reason)

    def _stop(self, run: TaskRun, row: TaskRow) -> None:
        """Stop a run whose final row is already in the store, or whose row was deleted."""
        self._live.pop(run.id, None)
        run.call.cancelled = True
        run.show(row)
        if run.asyncio_task is not None:
            run.asyncio_task.cancel()

    # -- taking over --------------------------------------------------------------------------

    async def _take_over(self) -> None:
        """Resume the tasks that no process runs any more, or mark them as failed."""
        known = (*self._live, *self._claimed)
        rows = await self._rows.do(self._rows.opened.adopt, known)
        with self._claiming([row.id for row in rows]):
            for row in rows:
                await self._resume_or_fail(row)

    @contextlib.contextmanager
    def _claiming(self, ids: Sequence[str]) -> Iterator[None]:
        self._claimed.update(ids)
        try:
            yield
        finally:
            self._claimed.subtract(ids)
            self._claimed += Counter()

    async def _resume_or_fail(self, row: TaskRow) -> None:
        kept = KeptRecord() if row.record is None else codec.decode_as(KeptRecord, row.record)
        call = reopen_request(row, self._ready.eras)
        if call is None or not self._is_resumable(call.params.name):  # type: ignore[attr-defined]
            await self._fail(row, "The process that ran the task has ended before it.")
        elif kept.attempts >= _MAX_ATTEMPTS:
            await self._fail(
                row, f"{kept.attempts} processes have run the task and ended before it."
            )
        else:
            await self._run_again(call, row, kept)

    async def _run_again(self, call: Call, row: TaskRow, kept: KeptRecord) -> None:
        row = replace(row, status=Status.WORKING.value, asks=None, updated=time.time())
        run = self._prepare(call, row, kept.attempts + 1)
        call.link = NULL_LINK
        call.record.answers.update(kept.answered)
        call.record.results.update(kept.results)
        self._live[row.id] = run
        if await self.save(run.with_record()):
            logger.info("task %s of %r: runs again", row.id[:8], row.owner)
            self._begin(run)
        else:
            del self._live[row.id]

    # -- suspending -----------------------------------------------------------------------------

    def _should_suspend(self, run: TaskRun) -> bool:
        return time.time() - run.row.updated >= self._ready.options.task_nap and run.is_idle

    async def _suspend(self, run: TaskRun) -> None:
        """End a run that only waits for its client; it runs again when all answers are there.

        A suspended task needs only its row in the store.
        """
        row = run.with_record()
        row.worker = ASLEEP
        if not await self.save(row):
            return
        if run.is_idle:
            del self._live[run.id]
            run.suspend(row)
        else:
            # It was answered while the row was saved.
            self.save_soon(run.with_record())

    async def _wake(self, row: TaskRow, answers: Mapping[str, Raw]) -> None:
        """Store answers for a suspended task; with the last one it runs again."""
        # Claimed first: between waking and running, `_take_over` would see it as abandoned.
        with self._claiming([row.id]):
            await self._wake_claimed(row, answers)

    async def _wake_claimed(self, row: TaskRow, answers: Mapping[str, Raw]) -> None:
        if not await self._rows.do(self._rows.opened.wake, row.id):
            # Another caller or process has claimed it; that process collects the answers.
            await self._rows.do(self._rows.opened.leave, row.id, codec.encode(dict(answers)))
            return
        found: TaskRow | None = await self._rows.do(self._rows.opened.get, row.id)
        row = row if found is None else found
        kept = KeptRecord() if row.record is None else codec.decode_as(KeptRecord, row.record)
        asks = read_asks(row.asks)
        for key, answer in answers.items():
            ask = asks.pop(key, None)
            if ask is not None:
                kept.answered[key] = Answer(ask.digest, answer)
        call = None if asks else reopen_request(row, self._ready.eras)
        if call is not None:
            # A suspension is not a failed attempt.
            kept.attempts -= 1
            await self._run_again(call, row, kept)
            return
        updated = replace(
            row,
            worker=ASLEEP,
            asks=encode_asks(asks),
            record=codec.encode(kept),
            updated=time.time(),
        )
        await self.save(updated)

    # -- the interface for running tasks --------------------------------------------------------

    def publish(self, run: TaskRun) -> None:
        """Notify subscribers that the task has changed."""
        self._ready.bus.publish(ChangeEvent(ChangeKind.TASK, run.id, run.view()))

    async def save(self, row: TaskRow) -> bool:
        """Save a row; False if the task has ended or no longer exists."""
        return await self._rows.save(row)

    def save_soon(self, row: TaskRow) -> None:
        """Save a row without waiting for it."""
        self._rows.save_soon(row)

    # -- the interface for eras -----------------------------------------------------------------

    async def get(self, call: Call, id: str) -> TaskView:
        """Return a task of the caller; raises InvalidParamsError if it does not exist."""
        run = self._live.get(id)
        row = await self._find(call, id)
        return view_of(row, self.poll_ms) if run is None or run.row is not row else run.view()

    async def _find(self, call: Call, id: str) -> TaskRow:
        run = self._live.get(id)
        if run is not None:
            row: TaskRow | None = run.row
        else:
            store = await self._start()
            row = await self._rows.do(store.get, id)
        # tasks.auth-bound, xtasks.authz: tasks of other callers are reported as unknown
        if (
            row is None
            or row.owner != owner_of(call.principal)
            or row.revision != call.era.revision.date
            or (row.expires is not None and row.expires <= time.time())
        ):
            # tasks.unknown-id-32602, xtasks.unknown-id-get
            raise InvalidParamsError(
                f"Unknown task: {id[:100]!r}. Tasks are kept for as long as their ttl says"
            )
        return row

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        """Wait until the task differs from `seen`, and return it."""
        while True:
            run = self._live.get(seen.id)
            if run is not None and run.version == seen.version:
                await run.wait()
                if run.row.status in FINAL:
                    return run.view()
            view = await self.get(call, seen.id)
            if view.version != seen.version or view.status is not seen.status:
                return view
            if seen.id not in self._live:
                # Another process runs it, so its changes can only be polled.
                await asyncio.sleep(_BUSY_TICK)

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Deliver answers to a task."""
        row = await self._find(call, id)
        run = self._live.get(id)
        if run is None:
            if row.worker == ASLEEP and row.status not in FINAL:
                await self._wake(row, answers)
            elif row.status not in FINAL:
                await self._rows.do(self._rows.opened.leave, id, codec.encode(dict(answers)))
            return
        for key, answer in answers.items():
            run.answer(key, answer)
        await run.recorded()

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Raise `error` in the task that asked; a task of another process keeps waiting."""
        run = self._live.get(id)
        if run is not None:
            run.refuse(key, error)

    def take(self, id: str, key: str) -> bool:
        """Claim a question; True if the caller should send it to the client."""
        run = self._live.get(id)
        return run is None or run.take(key)

    def give_back(self, id: str, key: str) -> None:
        """Release a claimed question, so that another caller can send it."""
        run = self._live.get(id)
        if run is not None:
            run.give_back(key)

    async def cancel(self, call: Call, id: str) -> tuple[TaskView, bool]:
        """Cancel a task; returns it, and whether it had already ended."""
        row = await self._find(call, id)
        ended = cancelled_row(row)
        # tasks.cancel-status: the final status is saved before the run is stopped
        if not await self.save(ended):
            return await self.get(call, id), True
        logger.info("task %s of %r: cancelled", row.id[:8], row.owner)
        run = self._live.get(id)
        if run is not None:
            self._stop(run, ended)
        elif self._rows.opened.is_shared:
            await self._rows.do(self._rows.opened.leave, id, b"")
        return view_of(ended, self.poll_ms), False

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Return a page of the caller's tasks, oldest first."""
        salt = f"tasks of {self._ready.eras.server_name}"
        after = 0 if cursor is None else decode_cursor(cursor, "task", salt=salt)
        store = await self._start()
        size = self._ready.options.page_size or _PAGE_SIZE
        revision = call.era.revision.date
        rows = await self._rows.do(store.page, owner_of(call.principal), revision, after, size + 1)
        more = encode_cursor("task", rows[size - 1].number, salt=salt) if len(rows) > size else None
        now = time.time()
        views = [
            self._live[row.id].view() if row.id in self._live else view_of(row, self.poll_ms)
            for row in rows[:size]
            if row.expires is None or row.expires > now
        ]
        return TaskPage(views, more)


def _label(call: Call) -> str:
    return f"{call.method} {getattr(call.params, 'name', '')}"
