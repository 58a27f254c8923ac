"""`TaskStore`: the tasks of a server in a `Backend`.

A task is one value, and every save is a compare-and-set on its version, so a row in a final status
never changes. The row names the worker, a process that runs it; a worker saves with its lease as
the fence too. So a process that was paused and has lost its lease, or a task that another process
has taken over, cannot save anything any more. The names, all below that of the server:

value   task/ID             the row
value   task answer/ID/ASK  the answer to a question of a task that another process runs
value   workers             the workers that may have tasks
lease   worker/ID           whether a worker lives
log     tasks/OWNER         the ids of the tasks of an owner, oldest first
limit   tasks/OWNER         how many an owner may have
channel tasks               changes and answers; what they are about is stored before
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from dovetail.core.call import Ask
from dovetail.core.options import Options
from dovetail.errors import LimitError, StoreError
from dovetail.runtime.state import CLUSTER, ServerState
from dovetail.state import ABSENT, Lease, Limit, MemoryBackend, Published, Refusal, Retention, Value
from dovetail.wire import codec

__all__ = [
    "FINAL",
    "LEASE",
    "Stored",
    "TaskMessage",
    "TaskRow",
    "TaskStore",
    "enter_default_state",
    "find_default_file",
    "is_chosen",
]

logger = logging.getLogger("dovetail")

# Statuses that do not change any more.
FINAL = frozenset({"completed", "failed", "cancelled"})
# Seconds without a sign of life after which others may take the tasks of a worker over.
LEASE = 2.0
# Entries of the list of an owner beyond those of tasks that exist: for those that have expired.
_LISTED = 10
_ENTRY_BYTES = 100
# The first byte of a stored answer.
_ANSWER, _REFUSAL = b"=", b"!"


class TaskRow(Struct, omit_defaults=True, kw_only=True):
    """What is stored of a task. Times are Unix timestamps, bytes are JSON."""

    id: str
    # The principal that created it; None if callers are anonymous.
    owner: str | None = None
    revision: str
    tool: str
    status: str = "working"
    message: str | None = None
    created: float
    updated: float
    # When it is deleted.
    expires: float
    # The process that runs it, and whether another one may run it again.
    worker: str = ""
    resumable: bool = False
    # What is needed to run it again: the request, and the record of steps done and answers.
    request: bytes = b""
    record: bytes | None = None
    # The questions to the client; pending if the status says so.
    asks: bytes | None = None
    result: bytes | None = None
    error: bytes | None = None


class Stored(NamedTuple):
    """A row and the version of its value."""

    row: TaskRow
    version: int


class TaskMessage(NamedTuple):
    """What a process tells the others: a task has changed, or there are answers for it."""

    sender: str
    id: str
    is_answer: bool = False
    status: str = ""
    updated: float = 0.0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TaskRow).decode
_decode_message = msgspec.msgpack.Decoder(TaskMessage).decode


class TaskStore:
    """The tasks of one server. All coroutines raise StoreError."""

    def __init__(self, state: ServerState, sender: str = "") -> None:
        """`sender`: the name of this process in messages."""
        self._state = state
        self._sender = sender
        self._backend = state.backend
        self._channel = state.key("tasks")
        self._workers = state.key("workers")
        self._prefix = state.key("task", "")
        self.is_shared: bool = state.is_shared

    # -- rows -----------------------------------------------------------------------------------

    async def add(self, row: TaskRow, options: Options, fence: Lease) -> int | None:
        """Add a task; returns its version, None if the lease is lost. Raises LimitError."""
        most, limit = options.tasks_per_owner, self._of_owner(row.owner)
        taking = self._backend.take([Limit(limit, most)], holder=row.id, ttl=_left(row))
        version: int | None = None
        refusal: Refusal | None = None
        try:
            if self.is_shared:
                # Together: it is one turn for a database, and a file is synced once.
                refusal, version, _ = await asyncio.gather(
                    taking, self.save(row, ABSENT, fence), self._list(row, options)
                )
            elif (refusal := await taking) is None:
                await self._list(row, options)
                version = await self.save(row, ABSENT, fence)
            if refusal is not None and version is not None:
                await self.delete(row.id)
        finally:
            if version is None:
                with suppress(StoreError):
                    await self._backend.give_back([limit], row.id)
        if refusal is not None:
            raise LimitError(
                f"Too many tasks: the limit is {most:,} per caller, including finished tasks that "
                "have not expired. Try again later."
            )
        return version

    async def _list(self, row: TaskRow, options: Options) -> None:
        """Add a task to those of its owner; without a row the entry means nothing."""
        if row.owner is not None:
            entries = options.tasks_per_owner * _LISTED
            kept = Retention(entries, entries * _ENTRY_BYTES, options.task_max_ttl)
            await self._backend.append(self._of_owner(row.owner), row.id.encode(), kept)

    async def get(self, id: str) -> Stored | None:
        """The task with this id."""
        found = await self._backend.get(self._prefix + id)
        return None if found is None else _read(id, found)

    async def save(self, row: TaskRow, version: int, fence: Lease | None = None) -> int | None:
        """Replace this version of a row; returns the new one, None if it or the lease is lost."""
        return await self._backend.set(
            self._prefix + row.id, _encode(row), ttl=_left(row), version=version, fence=fence
        )

    async def delete(self, id: str) -> None:
        """Delete a task."""
        await self._backend.delete(self._prefix + id)

    async def end(self, stored: Stored, make_row: Callable[[TaskRow], TaskRow]) -> Stored | None:
        """End a task, whichever process runs it; None if it has ended or expired before."""
        found: Stored | None = stored
        while found is not None and found.row.status not in FINAL:
            row = make_row(found.row)
            version = await self.save(row, found.version)
            if version is not None:
                return Stored(row, version)
            found = await self.get(row.id)
        return None

    async def page(
        self, owner: str, revision: str, after: int, size: int
    ) -> tuple[list[Stored], int | None]:
        """Tasks of an owner after a position, and the position to continue from, if any."""
        log, rows = self._of_owner(owner), list[Stored]()
        while True:
            page = await self._backend.read(log, after, size + 1)
            found = await asyncio.gather(
                *(self.get(entry.data.decode(errors="replace")) for entry in page.entries)
            )
            for entry, stored in zip(page.entries, found, strict=True):
                if stored is None or (stored.row.owner, stored.row.revision) != (owner, revision):
                    continue
                if len(rows) == size:
                    return rows, after
                rows.append(stored)
                after = entry.position
            if len(page.entries) <= size:
                return rows, None
            after = max(after, page.entries[-1].position)

    async def scan(self) -> AsyncIterator[Stored]:
        """All tasks, in any order."""
        async for key, value in self._backend.scan(self._prefix):
            stored = _read(key.removeprefix(self._prefix), value)
            if stored is not None:
                yield stored

    def _of_owner(self, owner: str | None) -> str:
        return self._channel if owner is None else self._state.key("tasks", owner)

    # -- answers of clients to the tasks of other processes -------------------------------------

    async def leave(self, row: TaskRow, ask: Ask, answer: Raw | None, reason: str = "") -> None:
        """Store the answer to a question, or why there is none; the first one counts."""
        data = _REFUSAL + reason.encode() if answer is None else _ANSWER + bytes(answer)
        key = self._of_answer(row.id, ask)
        await self._backend.set(key, data, ttl=_left(row), version=ABSENT)

    async def find_answers(self, id: str, asks: Mapping[str, Ask]) -> dict[str, Raw | str]:
        """The stored answers to these questions, or why there is none, by their keys."""
        found: dict[str, Raw | str] = {}
        for key, ask in asks.items():
            value = await self._backend.get(self._of_answer(id, ask))
            if value is not None:
                is_answer, rest = value.data[:1] == _ANSWER, value.data[1:]
                found[key] = Raw(rest) if is_answer else rest.decode()
        return found

    async def forget_answers(self, id: str, asks: Sequence[Ask]) -> None:
        """Delete answers that the row has now; those that cannot be deleted expire."""
        with suppress(StoreError):
            for ask in asks:
                await self._backend.delete(self._of_answer(id, ask))

    def _of_answer(self, id: str, ask: Ask) -> str:
        # A task that runs again may ask another question with the same key.
        return self._state.key("task answer", id, f"{ask.digest.hex()} {ask.key}")

    # -- messages -------------------------------------------------------------------------------

    async def tell_changed(self, row: TaskRow) -> None:
        """Tell other processes that a task has changed."""
        await self._tell(TaskMessage(self._sender, row.id, False, row.status, row.updated))

    async def tell_answered(self, id: str) -> None:
        """Tell the process that runs a task that there are answers."""
        await self._tell(TaskMessage(self._sender, id, is_answer=True))

    async def _tell(self, message: TaskMessage) -> None:
        if self.is_shared:
            # Who misses it looks again after some seconds.
            with suppress(StoreError):
                await self._backend.publish(self._channel, _encode(message))

    def messages(self) -> AbstractAsyncContextManager[AsyncIterator[Published]]:
        """The messages of all processes, for `read_message`."""
        return self._backend.subscribe(self._channel)

    def read_message(self, data: bytes) -> TaskMessage | None:
        """A message of another process; None for one of this process."""
        try:
            message = _decode_message(data)
        except msgspec.DecodeError:
            return None
        return None if message.sender == self._sender else message

    # -- workers --------------------------------------------------------------------------------

    async def workers(self) -> list[str]:
        """The workers that may have tasks."""
        return _read_workers(await self._backend.get(self._workers))

    async def change_workers(self, *, add: str = "", remove: str = "") -> None:
        """Add or remove a worker."""
        while True:
            found = await self._backend.get(self._workers)
            known = _read_workers(found)
            changed = [each for each in known if each not in (add, remove)] + [add] * bool(add)
            if changed == known:
                return
            version = ABSENT if found is None else found.version
            if await self._backend.set(self._workers, codec.encode(changed), version=version):
                return

    async def acquire(self, worker: str, holder: str) -> Lease | None:
        """The lease of a worker; None while it lives, or while another process has the lease."""
        return await self._backend.acquire(self._state.key("worker", worker), holder, LEASE)

    async def renew(self, lease: Lease) -> bool:
        """Whether a lease is still held; it is renewed."""
        return await self._backend.renew(lease, LEASE)

    async def release(self, lease: Lease) -> None:
        """Give a lease back; one that cannot be given back expires."""
        with suppress(StoreError):
            await self._backend.release(lease)


def _left(row: TaskRow) -> float:
    return max(0.001, row.expires - time.time())


def _read(id: str, value: Value) -> Stored | None:
    try:
        return Stored(_decode(value.data), value.version)
    except msgspec.DecodeError as error:
        logger.error("ignored the stored task %.8s: it is damaged: %s", id, error)
        return None


def _read_workers(value: Value | None) -> list[str]:
    try:
        return [] if value is None else codec.decode_as(list[str], value.data)
    except msgspec.DecodeError as error:
        logger.error("ignored the stored list of workers: it is damaged: %s", error)
        return []


def is_chosen(options: Options) -> bool:
    """Whether somebody has chosen where the state is."""
    return options.state is not None or bool(os.environ.get(CLUSTER))


def find_default_file(server: str) -> Path:
    """Return the path of the file for the tasks of a server; RuntimeError without a home."""
    # XDG Base Directory Specification: state that should survive restarts belongs here.
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "dovetail" / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', server)}.state.sqlite3"


async def enter_default_state(server: str, stack: AsyncExitStack) -> ServerState:
    """Return the default state for tasks: a file, or memory if the file cannot be used."""
    # Imported late: it takes 4 ms, which servers without tasks should not pay.
    from dovetail.state.sqlite import SQLiteBackend  # noqa: PLC0415

    try:
        file = find_default_file(server)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        backend = await stack.enter_async_context(SQLiteBackend(file).opened())
    except (StoreError, OSError, RuntimeError) as error:
        # The file is only a default, and many containers have no writable home directory.
        logger.warning("%s; tasks are kept in memory and lost with this process", error)
        return ServerState(MemoryBackend(), server, is_shared=False)
    return ServerState(backend, server)
