"""The tasks of a server: creates them, answers requests about them, and takes tasks over.

A task runs in its own asyncio task, so it outlives its request and its connection. What clients see
is what is stored, whichever process runs the task. If a process ends while it runs tasks, another
one takes them over: it runs them again if their tool is resumable, and otherwise fails them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TypeVar

from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.cursor import decode_cursor, encode_cursor
from dovetail.core.principal import owner_of
from dovetail.errors import InternalError, InvalidParamsError, LimitError, StoreError
from dovetail.net.backoff import backoff
from dovetail.runtime.engine import Engine
from dovetail.runtime.state import ServerState
from dovetail.tasks.eras import shape_of
from dovetail.tasks.rows import cancelled_row, keep_request
from dovetail.tasks.run import TaskCall, TaskRun, read_asks, view_of
from dovetail.tasks.running import RunningTasks
from dovetail.tasks.store import (
    FINAL,
    Stored,
    TaskMessage,
    TaskRow,
    TaskStore,
    enter_default_state,
    is_chosen,
)
from dovetail.tasks.views import Status, TaskPage, TaskView
from dovetail.tasks.worker import Worker

__all__ = ["TaskKeeper"]

logger = logging.getLogger("dovetail")

T = TypeVar("T")

# Seconds between two renewals of the lease while tasks run here, between two searches for tasks of
# dead processes, and until something that other processes may have changed is read again although
# no message came.
_RENEW = 0.5
_SEARCH = 1.0
_LOOK_AGAIN = 2.0
# Seconds without tasks after which the lease is given back.
_IDLE = 5.0
# Seconds between two attempts while the store cannot be used, the first and the longest.
_FIRST_RETRY = 0.1
_LONGEST_RETRY = 1.0
# Rows that are read in one look.
_PART = 100
# Tasks of other processes whose changes clients of this one follow; the oldest are forgotten.
_MAX_FOLLOWED = 10_000
_PAGE_SIZE = 50
# 192 random bits: ids cannot be guessed (tasks.id.entropy, xtasks.id-entropy).
_ID_BYTES = 24
# Seconds that closing waits for cancelled runs, and for messages.
_CLOSING = 0.5


class TaskKeeper(RunningTasks):
    """Stores and runs the tasks of one server."""

    def __init__(self, engine: Engine, is_resumable: Callable[[str], bool]) -> None:
        super().__init__(engine, is_resumable)
        self._state: ServerState | None = None
        self._opened: AsyncExitStack | None = None
        self._loops: list[asyncio.Task[None]] = []
        self._starting: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        # Set when the loop should not wait any longer for the first task; when the last run ended.
        self._stir = asyncio.Event()
        self._is_idle = False
        self._idle_since = 0.0
        self._looked = 0

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
        if self._loop is loop and self._loops:
            return
        if self._starting is None or self._starting[0] is not loop:
            self._starting = (loop, asyncio.Lock())
        # Concurrent first calls open the store once.
        async with self._starting[1]:
            if self._loop is not loop or not self._loops:
                await self._open(loop)

    async def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        # After an event loop that ended before the server was closed, the backend is still open.
        if self._opened is None:
            stack = AsyncExitStack()
            self._state = await self._enter_state(stack)
            self._opened = stack
        assert self._state is not None
        last = self._open_worker
        self._open_store = store = TaskStore(self._state, secrets.token_hex(8))
        self._open_worker = Worker(store, self._check_all)
        if last is not None and last.lease is not None:
            # Nobody renews it any more.
            await store.release(last.lease)
        self._live.clear()
        self._unsaved.clear()
        self._loop, self._stopping, self._idle_since = loop, False, loop.time()
        self._usable, self._stir = asyncio.Event(), asyncio.Event()
        self._usable.set()
        # A store that cannot be used now is looked at again later.
        with contextlib.suppress(StoreError):
            await self._search()
        self._loops = [loop.create_task(self._tend())]
        if store.is_shared:
            self._loops.append(loop.create_task(self._listen()))

    async def _enter_state(self, stack: AsyncExitStack) -> ServerState:
        if is_chosen(self._ready.options):
            await stack.enter_async_context(self._ready.state.backend.opened())
            return self._ready.state
        if self._state is not None and not self._state.is_shared:
            # The tasks in memory are still there.
            return self._state
        return await enter_default_state(self._ready.eras.server_name, stack)

    async def close(self) -> None:
        """Stop all tasks; resumable ones stay in the store for the next process."""
        if not self._loops or self._loop is not asyncio.get_running_loop():
            return
        # Tasks that can end without their clients get as much time as calls do.
        running = [
            run.asyncio_task
            for run in self._live.values()
            if run.asyncio_task is not None and not run.is_asking
        ]
        lifespan, grace = self._ready.lifespan, self._ready.options.grace
        if running:
            await asyncio.wait(running, timeout=lifespan.grace_left(grace))
        self._stopping = True
        loops, self._loops = self._loops, []
        for loop in loops:
            loop.cancel()
        runs = list(self._live.values())
        for run in runs:
            run.call.phase = run.call.phase.stopped
            if run.asyncio_task is not None:
                run.asyncio_task.cancel()
        # The loops too: they may be about to start a task that they have taken over.
        ending = [*loops, *(run.asyncio_task for run in runs if run.asyncio_task is not None)]
        await asyncio.wait(ending, timeout=max(_CLOSING, lifespan.grace_left(grace)))
        if self._background:
            await asyncio.wait(self._background, timeout=_CLOSING)
        with contextlib.suppress(StoreError):
            await self._worker.leave(has_tasks=any(run.row.status not in FINAL for run in runs))
        self._loop = None
        self._live.clear()
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.aclose()

    # -- the background ---------------------------------------------------------------------------

    async def _tend(self) -> None:
        """Keep the lease, save what waits, and look for tasks of dead processes."""
        pauses: Iterator[float] | None = None
        search_at = look_at = 0.0
        assert self._loop is not None
        while True:
            now = self._loop.time()
            try:
                await self._tend_own()
                if now >= search_at:
                    search_at = now + _SEARCH
                    await self._search()
                if now >= look_at:
                    look_at = now + _LOOK_AGAIN
                    await self._look_around()
                pauses = None
                self._usable.set()
                delay = _RENEW if self._live else _SEARCH
            except StoreError:
                # The backend logs why it cannot be used.
                self._note_trouble()
                pauses = pauses or backoff(_FIRST_RETRY, _LONGEST_RETRY)
                delay = next(pauses)
            except Exception:
                logger.exception("looking after tasks failed; it will be tried again")
                delay = _SEARCH
            self._is_idle = not (self._live or self._store.is_shared or self._worker.lease)
            if self._is_idle:
                self._stir.clear()
                await self._stir.wait()
                self._is_idle = False
            else:
                await asyncio.sleep(delay)

    async def _tend_own(self) -> None:
        assert self._loop is not None
        now = time.time()
        for run in [run for run in self._live.values() if run.row.expires <= now]:
            # tasks.ttl-delete: regardless of its status
            self._stop(run)
        if self._live:
            self._idle_since = self._loop.time()
            await self._worker.hold()
        elif self._worker.lease is not None and self._loop.time() - self._idle_since > _IDLE:
            await self._worker.leave()
        await self._save_waiting()

    async def _look_around(self, *, whole: bool = False) -> None:
        """Look at tasks that other processes may have changed; some of them each time."""
        runs = [*self._live.values()]
        followed = [
            id for id, known in self._followed.items() if known < math.inf and id not in self._live
        ]
        count = max(len(runs), len(followed)) if whole else _PART
        start, self._looked = self._looked, self._looked + count
        await asyncio.gather(
            *(self._look_at(run) for run in _some(runs, start, count)),
            *(self._look_at_followed(id) for id in _some(followed, start, count)),
        )

    async def _look_at_followed(self, id: str) -> None:
        stored = await self._store.get(id)
        if stored is None:
            self._followed.pop(id, None)
        else:
            self._publish(*stored)

    async def _listen(self) -> None:
        """Receive the messages of other processes."""
        async with self._store.messages() as messages:
            async for published in messages:
                if published.data is None:
                    # Each of those who wait reads its task again.
                    for id in tuple(self._watchers):
                        self._wake(id)
                    with contextlib.suppress(StoreError):
                        await self._look_around(whole=True)
                    continue
                message = self._store.read_message(published.data)
                if message is not None:
                    self._receive(message)

    def _receive(self, message: TaskMessage) -> None:
        self._wake(message.id)
        run = self._live.get(message.id)
        if run is not None:
            self._in_background(self._quietly(self._look_at(run)))
        elif message.id in self._followed:
            self._in_background(self._quietly(self._look_at_followed(message.id)))
        elif not message.is_answer:
            # Clients are notified of what is stored, which is read for those who want it.
            row = TaskRow(
                id=message.id, revision="", tool="", status=message.status,
                created=0.0, updated=message.updated, expires=0.0,
            )  # fmt: skip
            view, load = view_of(row, 0, self.poll_ms), partial(self._load, message.id)
            self._ready.bus.publish(ChangeEvent(ChangeKind.ITEM, message.id, view, load))

    async def _quietly(self, look: Awaitable[None]) -> None:
        # What cannot be read now is read in the next look.
        with contextlib.suppress(StoreError):
            await look

    async def _load(self, id: str) -> TaskView:
        stored = await self._store.get(id)
        if stored is None:
            raise InvalidParamsError("The task has expired")
        return await self._view(stored)

    # -- creating and running -----------------------------------------------------------------

    async def create(self, call: Call) -> TaskView:
        """Create a task from a request and start it."""
        ttl = self._ttl(call)
        await self._start()
        now = time.time()
        name: str = call.params.name  # type: ignore[attr-defined]
        row = TaskRow(
            id=secrets.token_urlsafe(_ID_BYTES),
            owner=owner_of(call.principal),
            revision=call.era.revision.date,
            tool=name,
            created=now,
            updated=now,
            expires=now + ttl,
            worker=self._worker.id,
            resumable=self._is_resumable(name),
        )
        own = TaskCall(call.method, call.received, call.era, call.peer)
        run = self._prepare(own, row)
        own.link = call.link.after_response()
        own.origin, own.principal = call.origin, call.principal
        own.record.answers.update(call.record.answers)
        own.record.results.update(call.record.results)
        if row.resumable:
            row.request = keep_request(call)
        self._live[row.id] = run
        try:
            run.version = await self._add(run)
        except BaseException as error:
            del self._live[row.id]
            if isinstance(error, StoreError):
                # It may have been added all the same; its client does not know it.
                self._rejected.append(row.id)
            if isinstance(error, LimitError):
                # The client expects a task or a JSON-RPC error; a tool result would be neither.
                raise InternalError(str(error)) from None
            raise
        # tasks.audit-log
        logger.info("task %s of %r: %s %s begins", row.id[:8], row.owner, call.method, name)
        view = view_of(row, run.version, self.poll_ms)
        self._begin(run)
        if self._is_idle:
            self._stir.set()
        return view

    async def _add(self, run: TaskRun) -> int:
        options, row = self._ready.options, run.to_save() if run.row.resumable else run.row
        # The lease itself is checked where the task is added.
        lease = self._worker.lease or await self._worker.hold()
        version = await self._store.add(row, options, lease)
        if version is None:
            version = await self._store.add(row, options, await self._worker.hold())
        if version is None:
            raise StoreError("the lease of this process was lost")
        return version

    def _ttl(self, call: Call) -> float:
        # tasks.ttl-override, tasks.limits: at most what the server allows
        options = self._ready.options
        wanted = shape_of(call.era).wanted_ttl_ms(call)
        if wanted is None:
            return min(options.task_ttl, options.task_max_ttl)
        return min(max(wanted / 1000, 0.001), options.task_max_ttl)

    # -- the interface for eras -----------------------------------------------------------------

    async def get(self, call: Call, id: str) -> TaskView:
        """Return a task of the caller; raises InvalidParamsError if it does not exist."""
        return await self._view(await self._find(call, id))

    async def _find(self, call: Call, id: str) -> Stored:
        await self._start()
        stored = await self._store.get(id)
        # tasks.auth-bound, xtasks.authz: tasks of other callers are reported as unknown
        if (
            stored is None
            or stored.row.owner != owner_of(call.principal)
            or stored.row.revision != call.era.revision.date
        ):
            # tasks.unknown-id-32602, xtasks.unknown-id-get
            raise InvalidParamsError(
                f"Unknown task: {id[:100]!r}. Tasks are kept for as long as their ttl says"
            )
        return stored

    async def _view(self, stored: Stored) -> TaskView:
        row, version = stored
        run = self._live.get(row.id)
        if run is not None:
            if not self._is_ours(stored):
                self._check_soon(run, stored)
            elif row.status == run.row.status == Status.WORKING.value:
                # Progress is saved now and then only.
                row.message, row.updated = run.row.message, run.row.updated
            version += run.released
        asks = {}
        if row.status == Status.INPUT_REQUIRED.value:
            asks = read_asks(row.asks)
            answered = await self._store.find_answers(row.id, asks)
            # xtasks.get-shapes: an answered question is no longer pending, at any process
            asks = {key: ask for key, ask in asks.items() if key not in answered}
            if not asks:
                row.status = Status.WORKING.value
        return view_of(row, version, self.poll_ms, asks)

    def _check_soon(self, run: TaskRun, stored: Stored) -> None:
        if stored.row != run.row:
            self._in_background(self._quietly(self._look_at(run)))

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        """Wait until the task differs from `seen`, and return it."""
        with self._watching(seen.id) as changed:
            while True:
                changed.clear()
                view = await self.get(call, seen.id)
                if (view.version, view.asks.keys()) != (seen.version, seen.asks.keys()):
                    return view
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_AGAIN):
                        await changed.wait()

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Deliver answers to a task; they are stored when this returns."""
        stored = await self._find(call, id)
        run = self._live.get(id)
        if run is not None and self._is_ours(stored):
            for key, answer in answers.items():
                run.answer(key, answer)
            if run.is_dirty or run.is_saving:
                await self._save(run, is_patient=False)
            return
        asks = read_asks(stored.row.asks)
        found = [(asks[key], answer) for key, answer in answers.items() if key in asks]
        for ask, answer in found:
            await self._store.leave(stored.row, ask, answer)
        if found:
            self._wake(id)
            await self._store.tell_answered(id)

    async def followed(self, call: Call, ids: Sequence[str]) -> list[str]:
        """Return those that belong to the caller; raises if it did not declare tasks."""
        # xtasks.non-declaring: only clients that declare tasks are notified of them
        shape_of(call.era).require(call)
        found = []
        for id in ids:
            # xtasks.authz: another caller's task counts as unknown
            with contextlib.suppress(InvalidParamsError):
                stored = await self._find(call, id)
                found.append(id)
                if id not in self._followed and stored.row.status not in FINAL:
                    self._followed[id] = stored.row.updated
        while len(self._followed) > _MAX_FOLLOWED:
            self._followed.popitem(last=False)
        return found

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Raise `error` in the task that asked; in another process as a ToolError."""
        run = self._live.get(id)
        if run is not None:
            run.refuse(key, error)
        elif self._loop is not None:
            self._in_background(self._leave_refusal(id, key, str(error)))

    async def _leave_refusal(self, id: str, key: str, reason: str) -> None:
        # The task keeps waiting if nobody can be told; another client may answer it.
        with contextlib.suppress(StoreError):
            stored = await self._store.get(id)
            ask = None if stored is None else read_asks(stored.row.asks).get(key)
            if stored is not None and ask is not None:
                await self._store.leave(stored.row, ask, None, reason)
                await self._store.tell_answered(id)

    def take(self, id: str, key: str) -> bool:
        """Claim a question; True if the caller should send it to the client."""
        run = self._live.get(id)
        return run is None or run.take(key)

    def give_back(self, id: str, key: str) -> None:
        """Release a claimed question, so that another caller can send it."""
        run = self._live.get(id)
        if run is not None:
            run.give_back(key)
            self._wake(id)

    async def cancel(self, call: Call, id: str) -> tuple[TaskView, bool]:
        """Cancel a task; returns it, and whether it had already ended."""
        stored = await self._find(call, id)
        # tasks.cancel-status: the final status is saved before the run is stopped
        ended = await self._store.end(stored, cancelled_row)
        if ended is None:
            return await self.get(call, id), True
        row = ended.row
        logger.info("task %s of %r: cancelled", row.id[:8], row.owner)
        run = self._live.get(id)
        if run is not None:
            self._stop(run)
        self._publish(*ended)
        await self._store.tell_changed(row)
        return view_of(row, ended.version, self.poll_ms), False

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Return a page of the caller's tasks, oldest first."""
        salt = f"tasks of {self._ready.eras.server_name}"
        after = 0 if cursor is None else decode_cursor(cursor, "task", salt=salt)
        await self._start()
        owner = owner_of(call.principal)
        assert owner is not None  # the list is not served to the others
        size = self._ready.options.page_size or _PAGE_SIZE
        rows, following = await self._store.page(owner, call.era.revision.date, after, size)
        more = None if following is None else encode_cursor("task", following, salt=salt)
        return TaskPage([await self._view(stored) for stored in rows], more)


def _some(items: list[T], start: int, count: int) -> list[T]:
    """So many items, beginning anywhere in the list, and going on at its start."""
    if len(items) <= count:
        return items
    start %= len(items)
    return (items[start:] + items[:start])[:count]
