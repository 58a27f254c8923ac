"""Tasks on Redis: any process serves any task, and the process that holds a task runs it.

dovetail:NAME:task:ID            the row (a hash), deleted some time after it expires
dovetail:NAME:task:ID:answers    answers for the process that holds the task (a list)
dovetail:NAME:tasks:number       the last sequence number
dovetail:NAME:tasks:all          ids by number; tasks:owner:DIGEST has those of one owner
dovetail:NAME:tasks:expiry       ids and owners by the time of expiry
dovetail:NAME:tasks:held:NODE    the ids that a process holds
dovetail:NAME:tasks:workers      the processes that hold tasks

A process holds its tasks for as long as its node reports (`RedisNode`): that is the lease. Every
change is one script, which checks that the row has not ended and that the process still holds it.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import msgspec

from dovetail.errors import StoreError
from dovetail.stores.redis.node import RedisNode
from dovetail.stores.redis.resp import Argument, Script
from dovetail.stores.redis.task_scripts import (
    ADD,
    COLLECT,
    EXPIRE,
    LEAVE,
    LOOK,
    PAGE,
    SAVE,
    TAKE,
)
from dovetail.stores.tasks import TaskRow
from dovetail.stores.tasks_memory import too_many

__all__ = ["RedisTasks"]

_CHANGED = "task"
_ANSWERED = "task-answers"
# Seconds that a row stays in Redis after it has expired, so that a process can remove it from the
# indexes; if no process runs by then, Redis deletes the row.
_EXPIRY_MARGIN = 60
_NEVER_MS = 10 * 365 * 86_400_000
# Seconds that a node must be missing before its tasks are taken over: after a pause of Redis, all
# nodes are missing until they have reported again. More after Redis could not be used.
_MISSING_SECONDS = 0.25
_SETTLE_SECONDS = 2.0
# Tasks of a dead process that are taken at once: other processes take the next ones.
_BATCH = 250

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_READERS: dict[str, Callable[[bytes], Any]] = {
    **dict.fromkeys(("id", "owner", "revision", "status", "message", "worker"), bytes.decode),
    **dict.fromkeys(("created", "updated", "expires"), float),
    **dict.fromkeys(("request", "record", "asks", "result", "error"), bytes),
    "number": int,
}
_NAMES = [field.name for field in fields(TaskRow)]
_CHANGING = ("message", "updated", "record", "asks", "result", "error")


class RedisTasks:
    """A `SharedTaskStore` on Redis."""

    def __init__(self, node: RedisNode) -> None:
        self._node = node
        self._prefix = node.key("")
        self._turns = itertools.count(1)
        # Nodes that are missing, and since when; no tasks are taken over before `_settled_at`.
        self._missing: dict[bytes, float] = {}
        self._settled_at = 0.0
        self._on_answers: Callable[[str], None] = lambda id: None

    @property
    def worker(self) -> str:
        """The name of this process."""
        return self._node.node

    def next_turn(self) -> int:
        """The number of the next save."""
        return next(self._turns)

    def listen(
        self,
        on_change: Callable[[TaskRow], None],
        on_answers: Callable[[str], None],
        on_reset: Callable[[], None],
    ) -> None:
        """Set the functions that are called for messages of other processes."""
        self._on_answers = on_answers
        self._node.on_message(_CHANGED, lambda _, head: on_change(_read_head(head)))
        self._node.on_message(_ANSWERED, lambda _, id: on_answers(id.decode()))
        self._node.on_reset(on_reset)

    def _run(self, script: Script, *arguments: Argument) -> Awaitable[Any]:
        return self._node.client.run(script, (self._prefix,), (self.worker, *arguments))

    # -- rows -------------------------------------------------------------------------------

    async def add(self, row: TaskRow, most: int) -> None:
        """Add a task that this process holds; raises LimitError, StoreError."""
        row.worker = self.worker
        values = [*_members(row, (name for name in _NAMES if name != "number"))]
        lifetime = _NEVER_MS if row.expires is None else _milliseconds(row.expires - time.time())
        score = "+inf" if row.expires is None else row.expires
        number = await self._run(ADD, row.id, _digest(row.owner), most, lifetime, score, *values)
        if not number:
            raise too_many(most)
        row.number = number

    async def get(self, id: str) -> TaskRow | None:
        """The task with this id; raises StoreError."""
        if not _ID.fullmatch(id):
            # Clients send what they like; it must not name another key.
            return None
        found = await self._node.client.do("HGETALL", self._node.key("task", id))
        return _read(found) if found else None

    async def save(self, row: TaskRow, turn: int) -> bool:
        """Update a task that this process holds, or end it as cancelled; raises StoreError."""
        worker = self.worker if row.worker is None else row.worker
        values = [*_members(row, _CHANGING)]
        absent = [name for name in _CHANGING if getattr(row, name) is None]
        message = self._node.broadcast(_CHANGED, _write_head(row))
        # fmt: off
        return bool(await self._run(
            SAVE, row.id, turn, row.status, worker,
            len(values), *values, len(absent), *absent, *message,
        ))
        # fmt: on

    async def page(
        self, owner: str | None, revision: str | None, after: int, size: int
    ) -> list[TaskRow]:
        """Tasks in the order of their numbers, without requests, records and results."""
        index = "all" if owner is None else f"owner:{_digest(owner)}"
        found = await self._run(PAGE, index, revision or "", after, size)
        return [_read(values) for values in found]

    async def expire(self, now: float) -> list[str]:
        """Delete expired tasks; raises StoreError."""
        return [id.decode() for id in await self._run(EXPIRE, now)]

    # -- leases -----------------------------------------------------------------------------

    async def adopt(self, running: Sequence[str]) -> list[TaskRow]:
        """Take over some tasks of dead processes, and what this one holds and does not run."""
        try:
            own, *dead = await self._run(LOOK, _BATCH)
        except StoreError:
            self._missing.clear()
            self._settled_at = time.monotonic() + _SETTLE_SECONDS
            raise
        now = time.monotonic()
        self._missing = {worker: self._missing.get(worker, now) for worker, *_ in dead}
        known = {id.encode() for id in running}
        found = [(self.worker.encode(), [id for id in own if id not in known])]
        if now >= self._settled_at:
            found += [
                (worker, ids)
                for worker, *ids in dead
                if now - self._missing[worker] >= _MISSING_SECONDS
            ]
        taken = [await self._run(TAKE, worker, *ids) if ids else () for worker, ids in found]
        # The first are its own.
        self._node.statistics.tasks_taken_over += sum(map(len, taken[1:]))
        return [_read(values) for rows in taken for values in rows]

    async def lost(self, running: Sequence[str]) -> list[str]:
        """Those of the tasks that this process does not hold any more; raises StoreError."""
        if not running:
            return []
        held = self._node.key("tasks", "held", self.worker)
        flags = await self._node.client.do("SMISMEMBER", held, *running)
        return [id for id, is_held in zip(running, flags, strict=True) if not is_held]

    # -- between processes --------------------------------------------------------------------

    async def leave(self, id: str, answers: bytes) -> None:
        """Store answers for the process that holds the task; raises StoreError."""
        worker = await self._run(LEAVE, id, answers)
        if worker.decode() == self.worker:
            self._on_answers(id)
        elif worker:
            self._node.send(worker.decode(), _ANSWERED, id.encode())

    async def collect(self, ids: Sequence[str]) -> list[tuple[str, bytes]]:
        """Take the stored answers for these tasks; each is returned once. Raises StoreError."""
        found = await self._run(COLLECT, *ids) if ids else []
        return [(id.decode(), answers) for id, answers in found]


def _milliseconds(seconds: float) -> int:
    return max(1, round((seconds + _EXPIRY_MARGIN) * 1000))


def _digest(owner: str | None) -> str:
    # Of a fixed length and without the characters that separate the parts of keys.
    return "-" if owner is None else hashlib.sha256(owner.encode()).hexdigest()[:32]


def _members(row: TaskRow, names: Iterable[str]) -> Iterable[Argument]:
    """The names and values of a row that are not None."""
    for name in names:
        value = getattr(row, name)
        if value is not None:
            yield name
            yield value


def _read(values: list[bytes]) -> TaskRow:
    members = {
        name.decode(): _READERS[name.decode()](value)
        for name, value in zip(values[::2], values[1::2], strict=True)
        if name != b"turn"
    }
    return TaskRow(**{"owner": None, "expires": None, "request": b"", **members})


def _write_head(row: TaskRow) -> bytes:
    head = replace(row, request=b"", record=None, asks=None, result=None, error=None)
    return msgspec.json.encode(head)


def _read_head(head: bytes) -> TaskRow:
    return msgspec.json.decode(head, type=TaskRow)
