"""One task at work: its call, the questions it has open, and who waits for it to change."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from msgspec import UNSET, Raw, Struct, UnsetType

from dovetail.core.call import Ask, Call, Peer, Record
from dovetail.core.era import Era
from dovetail.core.tasks import Status, TaskView
from dovetail.runtime.runner import TaskRunner
from dovetail.spec.models import Params
from dovetail.stores.tasks import TaskRow
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = [
    "KeptRecord",
    "TaskCall",
    "TaskRun",
    "Upkeep",
    "encode_asks",
    "read_asks",
    "view_of",
]

# Progress may come a thousand times a second; whoever listens is told this often (seconds).
_TOLD_EVERY = 0.25
_LONGEST_MESSAGE = 500


class KeptRecord(Struct, omit_defaults=True):
    """What has been answered and done so far, and how many processes have tried."""

    answers: dict[str, Raw] = {}
    results: dict[str, Raw] = {}
    attempts: int = 1


class Upkeep(Protocol):
    """Whoever keeps the tasks of a server, as one that runs sees it."""

    poll_ms: int

    @property
    def is_shared(self) -> bool:
        """Whether others may look at what is kept."""

    def told(self, run: TaskRun) -> None:
        """Tell whoever listens that the task has changed."""

    def save_soon(self, row: TaskRow) -> None:
        """Keep a row; nobody waits for it."""

    async def save(self, row: TaskRow) -> bool:
        """Keep a row; False if the task has ended or is gone."""


class TaskCall(Call):
    """A call that runs as a task.

    A class of its own, whose objects have all that a waiting one needs from the start: so they
    share one layout, where what is set later would cost each a dictionary.
    """

    def __init__(self, method: str, params: Params, era: Era, peer: Peer) -> None:
        super().__init__(b"0", method, params, era, peer)
        self.holds = 0
        self.running = self.cancelled = self.over = False
        self._record = Record()


class _Open:
    """A question that is open."""

    __slots__ = ("answer", "ask", "taken")

    def __init__(self, ask: Ask, answer: asyncio.Future[Raw]) -> None:
        self.ask = ask
        self.answer = answer
        # Somebody is putting it to the client.
        self.taken = False


class TaskRun:
    """A task that this process runs. Everything but `tell` and `progressed` is the loop's."""

    __slots__ = (
        "_loop", "_open", "_runner", "_thread", "_told_at", "_upkeep", "_waiting", "asyncio_task",
        "attempts", "call", "resumable", "row", "version",
    )  # fmt: skip

    def __init__(
        self,
        row: TaskRow,
        call: Call,
        upkeep: Upkeep,
        runner: TaskRunner,
        *,
        resumable: bool,
        attempts: int = 1,
    ) -> None:
        self.row = row
        self.call = call
        self.resumable = resumable
        self.attempts = attempts
        self.version = 0
        self.asyncio_task: asyncio.Task[None] | None = None
        self._upkeep = upkeep
        self._runner = runner
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._open: dict[str, _Open] | None = None
        self._waiting: list[asyncio.Future[None]] | None = None
        self._told_at = 0.0

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.row.id

    def view(self) -> TaskView:
        """The task as it is now."""
        asks = {key: waiting.ask for key, waiting in (self._open or {}).items()}
        return view_of(self.row, self._upkeep.poll_ms, asks, self.version)

    # -- changes ----------------------------------------------------------------------------

    def show(self, row: TaskRow) -> None:
        """From now on the task is this."""
        self.row = row
        self._wake()
        self._upkeep.told(self)

    def _wake(self) -> None:
        self.version += 1
        waiting, self._waiting = self._waiting, None
        for future in waiting or ():
            if not future.done():
                future.set_result(None)

    async def wait(self) -> None:
        """Wait for the next change."""
        future: asyncio.Future[None] = self._loop.create_future()
        if self._waiting is None:
            self._waiting = []
        self._waiting.append(future)
        try:
            await future
        finally:
            self._forget(future)

    def _forget(self, future: asyncio.Future[None]) -> None:
        if self._waiting is not None and future in self._waiting:
            self._waiting.remove(future)

    # -- what the call needs of its task --------------------------------------------------------

    async def ask(self, ask: Ask) -> Raw:
        """Park the task until the client has answered."""
        record = self.call.record
        answer = record.answers.get(ask.key)
        if answer is not None:
            return answer
        waiting = _Open(ask, self._loop.create_future())
        if not self._open:
            self._open = {}
            self._runner.lend()
        self._open[ask.key] = waiting
        # tasks.input-required-state (2025-11-25 basic/utilities/tasks)
        self._park()
        self.call.hold(1)
        try:
            return await waiting.answer
        finally:
            self.call.hold(-1)
            # The author may have given up this question alone, or all are withdrawn.
            self._drop(ask.key)

    def _park(self) -> None:
        """Show what is open; tasks.leave-input-required once nothing is."""
        opened = self._open or {}
        row = replace(
            self.row,
            status=(Status.INPUT_REQUIRED if opened else Status.WORKING).value,
            message=None,
            updated=time.time(),
            asks=self._kept_asks(),
        )
        self.show(row)
        self._upkeep.save_soon(self.with_record() if self.resumable else row)

    def _kept_asks(self) -> bytes | None:
        # A store that is gone with the process is asked for them only once nothing runs here.
        if not self._open or not (self.may_sleep or self._upkeep.is_shared):
            return None
        return encode_asks({key: waiting.ask for key, waiting in self._open.items()})

    def _drop(self, key: str) -> None:
        if self._open is None or self._open.pop(key, None) is None:
            return
        if not self._open:
            self._open = None
            self._runner.take_back()
        self._park()

    @property
    def may_sleep(self) -> bool:
        """Whether it may be run again once it is answered.

        Its tool says so, or its client is of an era in which every call that asks is.
        """
        return self.resumable or self.call.era.tasks.asks_first

    @property
    def is_idle(self) -> bool:
        """Whether the function does nothing but wait for one answer, and may be run again."""
        if self._open is None or self.asyncio_task is None or not self.may_sleep:
            return False
        # What an asyncio task waits for, it does not say in public.
        awaited = self.asyncio_task._fut_waiter  # type: ignore[attr-defined]
        return any(waiting.answer is awaited for waiting in self._open.values())

    def sleep(self, row: TaskRow) -> None:
        """End the run and change nothing: the row says all there is to know."""
        assert self.asyncio_task is not None
        self.row, self._open = row, None
        self._runner.take_back()
        self._wake()
        self.asyncio_task.cancel()

    def take(self, key: str) -> bool:
        """Whether it is for the caller to put this question to the client."""
        waiting = (self._open or {}).get(key)
        if waiting is None or waiting.taken:
            return False
        waiting.taken = True
        return True

    def give_back(self, key: str) -> None:
        """Somebody else may put the question."""
        waiting = (self._open or {}).get(key)
        if waiting is not None:
            waiting.taken = False
            self._wake()

    def answer(self, key: str, answer: Raw) -> None:
        """The client has answered."""
        waiting = (self._open or {}).get(key)
        if waiting is None or waiting.answer.done():
            return
        self.call.record.answers[key] = answer
        waiting.answer.set_result(answer)
        # xtasks.get-shapes: it is not open any more, though its function has yet to go on
        self._drop(key)

    def refuse(self, key: str, error: Exception) -> None:
        """The client will not answer."""
        waiting = (self._open or {}).get(key)
        if waiting is not None and not waiting.answer.done():
            waiting.answer.set_exception(error)
            self._drop(key)

    def tell(self, method: str, params: bytes) -> None:
        """Send a notification that belongs to the task, where the era has such."""
        related = self.call.era.tasks.related(self.id, params)
        if related is not None:
            self._on_loop(self.call.link.send_unrelated, Notification(method, Raw(related)))

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """Say in the status how far the work is."""
        share = f"{done:g}" if total is None else f"{done:g} of {total:g}"
        self._on_loop(self._say, (message or share)[:_LONGEST_MESSAGE])

    def _say(self, text: str) -> None:
        if self.row.status != Status.WORKING.value:
            return
        self.row.message, self.row.updated = text, time.time()
        if self._loop.time() - self._told_at >= _TOLD_EVERY:
            self._told_at = self._loop.time()
            self.show(self.row)

    def _on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self._loop.call_soon_threadsafe(function, *arguments)

    async def recorded(self) -> None:
        """Keep the record, if the task may be run again."""
        if self.resumable:
            await self._upkeep.save(self.with_record())

    def with_record(self) -> TaskRow:
        """The row with all that has been answered and done so far."""
        record = self.call.record
        kept = KeptRecord(record.answers, record.results, self.attempts)
        return replace(self.row, record=codec.encode(kept))


def view_of(
    row: TaskRow, poll_ms: int, asks: dict[str, Ask] | None = None, version: int | None = None
) -> TaskView:
    """What clients may know of a row."""
    return TaskView(
        id=row.id,
        status=Status(row.status),
        created=row.created,
        updated=row.updated,
        ttl_ms=None if row.expires is None else round((row.expires - row.created) * 1000),
        poll_ms=poll_ms,
        message=row.message,
        result=row.result,
        error=row.error,
        asks=read_asks(row.asks) if asks is None else asks,
        version=round(row.updated * 1000) if version is None else version,
    )


class _KeptAsk(Struct, omit_defaults=True):
    method: str
    params: Raw | UnsetType = UNSET


def encode_asks(asks: Mapping[str, Ask]) -> bytes:
    """Questions as they are kept."""
    return codec.encode(
        {
            key: _KeptAsk(ask.method, UNSET if ask.params is None else Raw(ask.params))
            for key, ask in asks.items()
        }
    )


def read_asks(raw: bytes | None) -> dict[str, Ask]:
    """Questions that were kept."""
    kept = {} if raw is None else codec.decode_as(dict[str, _KeptAsk], raw)
    return {
        key: Ask(key, ask.method, None if ask.params is UNSET else bytes(ask.params))
        for key, ask in kept.items()
    }
