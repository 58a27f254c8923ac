"""A running task: its call, its pending questions, and the callers that wait for a change."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from dovetail.core.call import Answer, Ask, Call, Peer, Record
from dovetail.core.call_state import NEW
from dovetail.core.era import Era
from dovetail.runtime.runner import TaskRunner
from dovetail.spec.models import Params
from dovetail.tasks.eras import shape_of
from dovetail.tasks.store import FINAL, TaskRow
from dovetail.tasks.views import Status, TaskView
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = [
    "KeptRecord",
    "TaskBackend",
    "TaskCall",
    "TaskRun",
    "encode_asks",
    "read_asks",
    "view_of",
]

# A handler may report progress a thousand times a second; it is saved and published at most this
# often (seconds).
_SHOW_INTERVAL = 0.25
_MAX_MESSAGE_CHARS = 500


class KeptRecord(Struct, omit_defaults=True):
    """The stored record of a task: answers, results of steps, and the number of attempts."""

    answered: dict[str, Answer] = {}
    results: dict[str, Raw] = {}
    attempts: int = 1

    def take_answers(self, asks: dict[str, Ask], answers: Mapping[str, Raw]) -> None:
        """Record answers, and remove their questions from `asks`; others are ignored."""
        for key, answer in answers.items():
            ask = asks.pop(key, None)
            if ask is not None:
                self.answered[key] = Answer(ask.digest, answer)


class TaskBackend(Protocol):
    """The interface through which a running task is saved."""

    def save_soon(self, run: TaskRun) -> None:
        """Save a run, and publish the change, without waiting for it."""

    async def save(self, run: TaskRun) -> None:
        """Save a run; waits while the store cannot be used."""

    async def hold(self, run: TaskRun) -> None:
        """Wait until this process is seen to hold the task."""


class TaskCall(Call):
    """A call that runs as a task.

    It sets all attributes of a waiting call in `__init__`: the objects then share one key table,
    while attributes that are set later would cost each object a dictionary of its own.
    """

    def __init__(self, method: str, params: Params, era: Era, peer: Peer) -> None:
        super().__init__(b"0", method, params, era, peer)
        self.holds = 0
        self.phase = NEW
        self._record = Record()


class _PendingAsk:
    """A question that the client has not answered yet."""

    __slots__ = ("answer", "ask", "taken")

    def __init__(self, ask: Ask, answer: asyncio.Future[Raw]) -> None:
        self.ask = ask
        self.answer = answer
        # Whether a caller is already sending it to the client.
        self.taken = False


class TaskRun:
    """A task that this process runs.

    Only `tell` and `progressed` may be called from other threads than the event loop's.
    """

    __slots__ = (
        "_backend",
        "_loop",
        "_pending",
        "_runner",
        "_shown_at",
        "_shows_again",
        "_thread",
        "asked_before",
        "asyncio_task",
        "attempts",
        "call",
        "has_changed",
        "is_dirty",
        "is_saving",
        "released",
        "row",
        "savers",
        "version",
    )  # fmt: skip

    def __init__(
        self, row: TaskRow, call: Call, backend: TaskBackend, runner: TaskRunner, attempts: int = 1
    ) -> None:
        self.row = row
        self.call = call
        self.attempts = attempts
        # The version of the stored row.
        self.version = 0
        # Whether there is something to save, and whether clients should know of it; whether it is
        # being saved, or waits for that; and who waits for it, with the error for the impatient.
        self.is_dirty = self.has_changed = self.is_saving = False
        self.savers: list[tuple[asyncio.Future[None], bool]] | None = None
        # How often a claimed question was released.
        self.released = 0
        # The questions of the run in an earlier process, which clients may answer before the
        # function asks them again.
        self.asked_before: Mapping[str, Ask] = {}
        self.asyncio_task: asyncio.Task[None] | None = None
        self._backend = backend
        self._runner = runner
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._pending: dict[str, _PendingAsk] | None = None
        self._shown_at = -math.inf
        self._shows_again = False

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.row.id

    @property
    def is_asking(self) -> bool:
        """Whether it waits for its client."""
        return bool(self._pending)

    @property
    def asks(self) -> dict[str, Ask]:
        """The questions that a client may answer now."""
        pending = {key: pending.ask for key, pending in (self._pending or {}).items()}
        return {**self.asked_before, **pending} if self.asked_before else pending

    def settle(self, error: Exception | None = None) -> None:
        """Wake those who wait until it is saved; with an error, only the impatient."""
        savers, self.savers = self.savers or [], None
        for future, is_patient in savers:
            if error is not None and is_patient:
                self.savers = [*(self.savers or ()), (future, is_patient)]
            elif not future.done():
                future.set_result(None) if error is None else future.set_exception(error)

    async def settled(self, *, is_patient: bool) -> None:
        """Wait until it is saved; raises StoreError if that takes longer."""
        future: asyncio.Future[None] = self._loop.create_future()
        if self.savers is None:
            self.savers = []
        self.savers.append((future, is_patient))
        await future

    # -- the interface for the call -------------------------------------------------------------

    async def ask(self, ask: Ask) -> Raw:
        """Wait until the client has answered; returns the answer."""
        record = self.call.record
        answer = record.answer_to(ask)
        if answer is not None:
            return answer
        pending = _PendingAsk(ask, self._loop.create_future())
        if not self._pending:
            self._pending = {}
            self._runner.release_slot()
        self._pending[ask.key] = pending
        # tasks.input-required-state (2025-11-25 basic/utilities/tasks)
        self._update_asks()
        self.call.hold(1)
        try:
            return await pending.answer
        finally:
            self.call.hold(-1)
            # Still pending if the wait was cancelled, for this question or for the whole task.
            self._drop(ask.key)

    def _update_asks(self) -> None:
        """Publish and save the pending questions; tasks.leave-input-required if there are none."""
        if self.call.phase.is_cancelled or self.row.status in FINAL:
            # The row says how the task has ended; or the server shuts down, and the next process
            # needs the questions of the row.
            return
        pending = self._pending or {}
        row = self.row
        row.status = (Status.INPUT_REQUIRED if pending else Status.WORKING).value
        row.message, row.updated = None, time.time()
        asks = {key: pending.ask for key, pending in pending.items()}
        row.asks = encode_asks(asks) if asks else None
        self.show()

    def show(self) -> None:
        """Save the row and publish the change, without waiting for it."""
        self.is_dirty = self.has_changed = True
        self._shown_at = self._loop.time()
        self._backend.save_soon(self)

    def _drop(self, key: str) -> None:
        if self._pending is None or self._pending.pop(key, None) is None:
            return
        if not self._pending:
            self._pending = None
            self._runner.reclaim_slot()
        self._update_asks()

    def take(self, key: str) -> bool:
        """Claim a question; True if the caller should send it to the client."""
        pending = (self._pending or {}).get(key)
        if pending is None or pending.taken:
            return False
        pending.taken = True
        return True

    def give_back(self, key: str) -> None:
        """Release a claimed question, so that another caller can send it."""
        pending = (self._pending or {}).get(key)
        if pending is not None:
            pending.taken = False
            self.released += 1

    def answer(self, key: str, answer: Raw) -> None:
        """Deliver the answer of the client; ignored if the question is not pending."""
        pending = (self._pending or {}).get(key)
        if pending is None and key in self.asked_before:
            self.call.record.keep_answer(self.asked_before[key], answer)
            self.is_dirty = True
        if pending is None or pending.answer.done():
            return
        self.call.record.keep_answer(pending.ask, answer)
        pending.answer.set_result(answer)
        # xtasks.get-shapes: no longer pending, even before the function has resumed
        self._drop(key)

    def refuse(self, key: str, error: Exception) -> None:
        """Raise `error` in the function that asked: the client will not answer."""
        pending = (self._pending or {}).get(key)
        if pending is not None and not pending.answer.done():
            pending.answer.set_exception(error)
            self._drop(key)

    def tell(self, method: str, params: bytes) -> None:
        """Send a notification of the task, if the era has them; safe from any thread."""
        related = shape_of(self.call.era).related(self.id, params)
        if related is not None:
            self._on_loop(self.call.link.send_unrelated, Notification(method, Raw(related)))

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress in the status message; safe from any thread."""
        share = f"{done:g}" if total is None else f"{done:g} of {total:g}"
        self._on_loop(self._set_message, (message or share)[:_MAX_MESSAGE_CHARS])

    def _set_message(self, text: str) -> None:
        if self.row.status != Status.WORKING.value:
            return
        self.row.message, self.row.updated = text, time.time()
        pause = self._shown_at + _SHOW_INTERVAL - self._loop.time()
        if pause <= 0:
            self.show()
        elif not self._shows_again:
            self._shows_again = True
            self._loop.call_later(pause, self._show_again)

    def _show_again(self) -> None:
        self._shows_again = False
        if self.row.status == Status.WORKING.value and not self.call.phase.is_cancelled:
            self.show()

    def _on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self._loop.call_soon_threadsafe(function, *arguments)

    async def before_step(self) -> None:
        """Wait until this process is seen to hold the task, if another one could repeat it."""
        if self.row.resumable:
            await self._backend.hold(self)

    async def recorded(self) -> None:
        """Save the record if the tool is resumable."""
        if self.row.resumable:
            self.is_dirty = True
            await self._backend.save(self)

    def to_save(self) -> TaskRow:
        """Return a copy of the row with the current record: answers and results of steps."""
        if self.row.status in FINAL:
            return self.row
        if not self.row.resumable:
            return replace(self.row)
        record = self.call.record
        kept = KeptRecord(record.answers, record.results, self.attempts)
        return replace(self.row, record=codec.encode(kept))


def view_of(
    row: TaskRow, version: int, poll_ms: int, asks: dict[str, Ask] | None = None
) -> TaskView:
    """Return the view of a row that clients get."""
    return TaskView(
        id=row.id,
        status=Status(row.status),
        created=row.created,
        updated=row.updated,
        ttl_ms=round((row.expires - row.created) * 1000),
        poll_ms=poll_ms,
        message=row.message,
        result=row.result,
        error=row.error,
        asks=read_asks(row.asks) if asks is None else asks,
        version=version,
    )


class _KeptAsk(Struct, omit_defaults=True):
    method: str
    params: Raw | UnsetType = UNSET


def encode_asks(asks: Mapping[str, Ask]) -> bytes:
    """Encode questions for the store."""
    return codec.encode(
        {
            key: _KeptAsk(ask.method, UNSET if ask.params is None else Raw(ask.params))
            for key, ask in asks.items()
        }
    )


def read_asks(raw: bytes | None) -> dict[str, Ask]:
    """Decode questions from the store."""
    kept = {} if raw is None else codec.decode_as(dict[str, _KeptAsk], raw)
    return {
        key: Ask(key, ask.method, None if ask.params is UNSET else bytes(ask.params))
        for key, ask in kept.items()
    }
