"""The tasks of a server: creates, resumes and expires them.

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
from collections.abc import (
    AsyncIterator,
    Callable,
    Container,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from functools import partial

from msgspec import Raw

from dovetail.core.call import Ask, Call
from dovetail.core.cursor import decode_cursor, encode_cursor
from dovetail.core.principal import owner_of
from dovetail.errors import InternalError, InvalidParamsError, LimitError, StoreError, ToolError
from dovetail.runtime.link import NULL_LINK
from dovetail.stores.tasks import FINAL, TaskRow
from dovetail.tasks.eras import shape_of
from dovetail.tasks.kept_requests import keep_request, reopen_request
from dovetail.tasks.outcomes import cancelled_row, failed_row
from dovetail.tasks.rows import TaskRows, WaitForChange
from dovetail.tasks.run import (
    KeptRecord,
    TaskCall,
    read_asks,
    view_of,
)
from dovetail.tasks.running import RunningTasks
from dovetail.tasks.views import Status, TaskPage, TaskView
from dovetail.wire import codec

__all__ = ["TaskKeeper"]

logger = logging.getLogger("dovetail")

# Seconds between two checks for changes by other processes: while tasks run here, and otherwise.
# The third is the interval of the search for expired tasks and for tasks of ended processes. In a
# cluster, processes notify each other, and look more often for tasks of dead processes.
_BUSY_TICK = 0.1
_IDLE_TICK = 1.0
_SWEEP = 2.0
# Seconds that a client waits for another process to take its answers.
_TAKING_SECONDS = 2.0
_CLUSTER_TICK = 0.25
_MAX_ATTEMPTS = 5
# The start of an answer that another process left: the client has refused the question.
_REFUSED = b"!"
_PAGE_SIZE = 50
# 192 random bits: ids cannot be guessed (tasks.id.entropy, xtasks.id-entropy).
_ID_BYTES = 24


class TaskKeeper(RunningTasks):
    """Stores and runs the tasks of one server."""

    def __init__(self, rows: TaskRows, is_resumable: Callable[[str], bool]) -> None:
        super().__init__(rows, is_resumable)
        # Claimed in the store by this process but not running yet: `_take_over` must skip them.
        self._claimed: Counter[str] = Counter()
        self._maintenance: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._starting: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    # -- startup and shutdown ---------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Start on entry, taking over tasks of ended processes; close on exit."""
        await self._start()
        try:
            yield
        finally:
            await self.close()

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if self._rows.is_open and self._loop is loop and self._maintenance is not None:
            return
        if self._starting is None or self._starting[0] is not loop:
            self._starting = (loop, asyncio.Lock())
        # Concurrent first calls open the store once.
        async with self._starting[1]:
            await self._open(loop)

    async def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        await self._rows.open(self)
        if self._loop is not loop or self._maintenance is None:
            if self._loop is not loop:
                # The server was used in an earlier event loop, whose tasks no longer run.
                self._live.clear()
            self._loop, self._stopping = loop, False
            self._maintenance = loop.create_task(self._maintain())
            # A store that cannot be used now is looked at again later.
            with contextlib.suppress(StoreError):
                await self._take_over()

    async def close(self) -> None:
        """Stop all tasks; resumable ones stay in the store for the next process."""
        if self._maintenance is None or self._loop is not asyncio.get_running_loop():
            return
        self._stopping = True
        maintenance, self._maintenance = self._maintenance, None
        maintenance.cancel()
        runs = list(self._live.values())
        for run in runs:
            run.call.phase = run.call.phase.stopped
            if run.asyncio_task is not None:
                run.asyncio_task.cancel()
        # The maintenance too: it may be about to start a task that it has taken over.
        tasks = [maintenance, *(run.asyncio_task for run in runs if run.asyncio_task is not None)]
        await asyncio.wait(tasks, timeout=self._ready.options.grace or 0.05)
        self._loop = None
        self._live.clear()
        await self._rows.close()

    async def _maintain(self) -> None:
        """Collect answers, expire and take over tasks, until the server closes."""
        swept = time.monotonic()
        while self._rows.is_open:
            busy = self._rows.is_shared and not self._rows.notifies and bool(self._live)
            await asyncio.sleep(self._interval(busy))
            try:
                if busy:
                    await self._collect(())
                is_due = time.monotonic() - swept >= _SWEEP
                if self._rows.notifies or (is_due and self._rows.is_shared):
                    await self._take_over()
                if self._rows.notifies:
                    await self._let_go_lost()
                if is_due:
                    swept = time.monotonic()
                    await self._sweep()
            except StoreError:
                # The store logs why it cannot be used.
                continue
            except Exception:
                logger.exception("task maintenance failed; it will be retried")

    def _interval(self, busy: bool) -> float:
        if self._rows.notifies:
            return _CLUSTER_TICK
        return _BUSY_TICK if busy else _IDLE_TICK

    async def _sweep(self) -> None:
        if self._rows.notifies:
            # In case a message was lost, or came before the question.
            await self._collect(self._asking())
        for id in await self._rows.expire(time.time()):
            run_or_none = self._live.get(id)
            if run_or_none is not None:
                # tasks.ttl-delete: regardless of its status
                self._stop(run_or_none, run_or_none.row)

    async def _let_go_lost(self) -> None:
        begun = [run.id for run in self._live.values() if run.asyncio_task is not None]
        for id in await self._rows.lost(begun):
            await self._let_go(id)

    def _asking(self) -> list[str]:
        asks = Status.INPUT_REQUIRED.value
        return [run.id for run in self._live.values() if run.row.status == asks]

    async def _collect(self, ids: Sequence[str]) -> None:
        for id, answers in await self._rows.collect(ids):
            self._collected(id, answers)

    def _collected(self, id: str, answers: bytes) -> None:
        run = self._live.get(id)
        if run is None:
            return
        if not answers:
            self._stop(run, replace(run.row, status=Status.CANCELLED.value, updated=time.time()))
            return
        if answers.startswith(_REFUSED):
            key, reason = codec.decode_as(tuple[str, str], answers.removeprefix(_REFUSED))
            run.refuse(key, ToolError(reason))
            return
        for key, answer in codec.decode_as(dict[str, Raw], answers).items():
            run.answer(key, answer)

    # -- creating and running -----------------------------------------------------------------

    async def create(self, call: Call) -> TaskView:
        """Create a task from a request and start it."""
        ttl = self._ttl(call)
        await self._start()
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
        # A store in memory needs the request only to run the task again in another event loop.
        if self._rows.is_shared or run.resumable:
            row.request = keep_request(call)
        if run.resumable:
            row.record = run.with_record().record
        self._live[row.id] = run
        try:
            await self._rows.add(row, options.tasks_per_owner)
        except BaseException as error:
            del self._live[row.id]
            if isinstance(error, StoreError):
                # It may have been added all the same; the client does not know it.
                self._rows.save_soon(failed_row(row, error.message))
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
        wanted = shape_of(call.era).wanted_ttl_ms(call)
        if wanted is None:
            return min(options.task_ttl, options.task_max_ttl)
        return min(max(wanted / 1000, 0.001), options.task_max_ttl)

    # -- taking over --------------------------------------------------------------------------

    async def _take_over(self) -> None:
        """Resume the tasks that no process runs any more, or mark them as failed."""
        seen: set[str] = set()
        while True:
            known = (*self._live, *self._claimed)
            rows = [row for row in await self._rows.adopt(known) if row.id not in seen]
            ids = [row.id for row in rows]
            seen.update(ids)
            with self._claiming(ids):
                left = await self._rows.collect(ids) if self._rows.notifies and ids else []
                resuming = [self._resume_or_fail(row, left) for row in rows]
                outcomes = await asyncio.gather(*resuming, return_exceptions=True)
            for error in outcomes:
                if error is not None:
                    raise error
            # A cluster hands them out in parts, so that its processes share them.
            if not rows or not self._rows.notifies:
                return

    @contextlib.contextmanager
    def _claiming(self, ids: Sequence[str]) -> Iterator[None]:
        self._claimed.update(ids)
        try:
            yield
        finally:
            self._claimed.subtract(ids)
            self._claimed += Counter()

    async def _resume_or_fail(self, row: TaskRow, left: Sequence[tuple[str, bytes]]) -> None:
        kept = KeptRecord() if row.record is None else codec.decode_as(KeptRecord, row.record)
        asks = read_asks(row.asks)
        for answers in [answers for id, answers in left if id == row.id and answers[:1] == b"{"]:
            kept.take_answers(asks, codec.decode_as(dict[str, Raw], answers))
        call = reopen_request(row, self._ready.eras)
        if call is None or not self._is_resumable(call.params.name):  # type: ignore[attr-defined]
            await self._fail(row, "The process that ran the task has ended before it.")
        elif kept.attempts >= _MAX_ATTEMPTS:
            await self._fail(
                row, f"{kept.attempts} processes have run the task and ended before it."
            )
        else:
            await self._run_again(call, row, kept, asks)

    async def _run_again(
        self, call: Call, row: TaskRow, kept: KeptRecord, asks: dict[str, Ask]
    ) -> None:
        row = replace(row, status=Status.WORKING.value, asks=None, updated=time.time())
        run = self._prepare(call, row, kept.attempts + 1)
        run.asked_before = asks
        call.link = NULL_LINK
        call.record.answers.update(kept.answered)
        call.record.results.update(kept.results)
        self._live[row.id] = run
        try:
            if await self._rows.save(run.with_record()):
                logger.info("task %s of %r: runs again", row.id[:8], row.owner)
                self._begin(run)
        finally:
            if run.asyncio_task is None:
                self._live.pop(row.id, None)

    # -- other processes of a cluster -----------------------------------------------------------

    def changed_elsewhere(self, row: TaskRow) -> None:
        """Stop a task that another process has ended, and notify subscribers."""
        run = self._live.get(row.id)
        if run is not None:
            if row.status not in FINAL:
                return
            self._abandon(run)
        self._publish_row(row, partial(self._load, row))

    async def _load(self, row: TaskRow) -> TaskView:
        return view_of(await self._rows.get(row.id) or row, self.poll_ms)

    def answered_elsewhere(self, ids: Sequence[str] | None) -> None:
        """Collect the answers for tasks of this process."""
        wanted = [id for id in self._asking() if ids is None or id in ids]
        if wanted:
            self._in_background(self._collect_quietly(wanted))

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        assert self._loop is not None
        task = self._loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _collect_quietly(self, ids: Sequence[str]) -> None:
        # Answers that cannot be read now stay in the store, and `on_reset` looks again.
        with contextlib.suppress(StoreError):
            await self._collect(ids)

    async def _let_go(self, id: str) -> None:
        """Stop a run whose row this process does not hold any more."""
        row = await self._rows.get(id)
        run = self._live.get(id)
        if run is None:
            return
        if row is None or row.status in FINAL:
            self._stop(run, row or run.row)
        elif row.worker != run.row.worker:
            logger.warning("task %s of %r: another process has taken it over", id[:8], row.owner)
            self._abandon(run)

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
            await self._start()
            row = await self._rows.get(id)
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
            with self._rows.watching(seen.id, _BUSY_TICK) as wait_for_change:
                view = await self.get(call, seen.id)
                if view.version != seen.version or view.status is not seen.status:
                    return view
                if seen.id not in self._live:
                    # Another process runs it.
                    await wait_for_change()

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Deliver answers to a task."""
        row = await self._find(call, id)
        run = self._live.get(id)
        if run is None:
            if row.status not in FINAL:
                with self._rows.watching(id, _BUSY_TICK) as wait_for_change:
                    await self._rows.leave(id, codec.encode(dict(answers)))
                    await self._until_taken(id, answers, wait_for_change)
            return
        for key, answer in answers.items():
            run.answer(key, answer)
        await run.recorded()

    async def _until_taken(
        self, id: str, answers: Container[str], wait_for_change: WaitForChange
    ) -> None:
        """Wait until the process that runs the task has taken the answers, if it is alive.

        xtasks.get-shapes: an answered question is no longer pending, at whichever process the
        client asks next. The answers are stored already, so nothing is lost after the timeout.
        """
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(_TAKING_SECONDS):
                while row := await self._rows.get(id):
                    if row.status in FINAL or not any(
                        key in answers for key in read_asks(row.asks)
                    ):
                        return
                    await wait_for_change()

    async def followed(self, call: Call, ids: Sequence[str]) -> list[str]:
        """Return those that belong to the caller; raises if it did not declare tasks."""
        # xtasks.non-declaring: only clients that declare tasks are notified of them
        shape_of(call.era).require(call)
        found = []
        for id in ids:
            # xtasks.authz: another caller's task counts as unknown
            with contextlib.suppress(InvalidParamsError):
                found.append((await self.get(call, id)).id)
        return found

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Raise `error` in the task that asked; in another process as a ToolError."""
        run = self._live.get(id)
        if run is not None:
            run.refuse(key, error)
        elif self._rows.is_open and self._rows.is_shared:
            self._in_background(self._leave_refusal(id, key, str(error)))

    async def _leave_refusal(self, id: str, key: str, reason: str) -> None:
        # The task keeps waiting if nobody can be told; another client may answer it.
        with contextlib.suppress(StoreError):
            await self._rows.leave(id, _REFUSED + codec.encode((key, reason)))

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
        if not await self._rows.save(ended):
            return await self.get(call, id), True
        logger.info("task %s of %r: cancelled", row.id[:8], row.owner)
        run = self._live.get(id)
        if run is not None:
            self._stop(run, ended)
        else:
            await self._rows.tell_cancelled(id)
            self._publish_row(ended)
        return view_of(ended, self.poll_ms), False

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Return a page of the caller's tasks, oldest first."""
        salt = f"tasks of {self._ready.eras.server_name}"
        after = 0 if cursor is None else decode_cursor(cursor, "task", salt=salt)
        await self._start()
        size = self._ready.options.page_size or _PAGE_SIZE
        revision = call.era.revision.date
        rows = await self._rows.page(owner_of(call.principal), revision, after, size + 1)
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
