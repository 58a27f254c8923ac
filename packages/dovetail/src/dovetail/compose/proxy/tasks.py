"""Tasks of the upstream, as the tasks of the proxy: `KeptTasks` between any two eras.

Both eras serve their task methods from this interface, so a task of a legacy upstream can be used
by a modern caller and the reverse. A legacy upstream sends the questions of a task while
tasks/result waits, so such a request is kept open for each task that has questions.

The ids that callers with a principal see contain a tag: the upstream may not know the callers
apart, and nobody may use the task of another. In a cluster they also name the process that
created the task (`routed_tasks.py`).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.client.legacy_tasks import LegacyTaskCalls
from dovetail.compose.proxy.connection import UpstreamConnection
from dovetail.compose.proxy.failures import UpstreamError
from dovetail.compose.proxy.forwarder import Forwarder, UpstreamResult
from dovetail.compose.proxy.questions import KeptCall, fit_question
from dovetail.compose.proxy.results import fit_result
from dovetail.compose.proxy.routed_tasks import TaskRoutes
from dovetail.core.call import Ask, Call
from dovetail.core.era import Encoded
from dovetail.core.principal import owner_of
from dovetail.core.tasks import KeptTasks, Status, TaskPage, TaskView
from dovetail.errors import (
    InternalError,
    InvalidParamsError,
    MethodNotFoundError,
    RpcError,
)
from dovetail.spec.keys import RELATED_TASK
from dovetail.spec.revisions import Family
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["ProxyTasks"]

# Limits of what is remembered about tasks; the oldest are forgotten first.
_MAX_REMEMBERED = 10_000
# Seconds between two polls of the upstream.
_DEFAULT_POLL = 1.0
_SHORTEST_POLL = 0.05
_LONGEST_POLL = 10.0
# Seconds that a kept tasks/result request may last.
_RESULT_SECONDS = 86_400.0
# How long a task is kept whose call did not become a task at the upstream.
_FINISHED_TTL_MS = 3_600_000
# The ids of such tasks.
_FINISHED = "finished-"
# In ids, before the process that created the task.
_AT = "@"


class _Error(Struct):
    code: int
    message: str = ""
    data: Any = None


class _Task(Struct, rename="camel"):
    """A task in either era."""

    task_id: str
    status: Status
    status_message: str | None = None
    created_at: str = ""
    last_updated_at: str = ""
    ttl: float | None = None
    ttl_ms: float | None = None
    poll_interval: float | None = None
    poll_interval_ms: float | None = None
    input_requests: dict[str, dict[str, Any]] = {}
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")


class _Created(Struct):
    task: _Task


class _Page(Struct, rename="camel"):
    tasks: list[_Task]
    next_cursor: str | None = None


@dataclass(slots=True)
class _Known:
    """What is remembered about a task."""

    # None if another process created the task.
    home: UpstreamConnection | None
    public_id: str
    waiting: KeptCall | None = None


class ProxyTasks(KeptTasks):
    """The tasks of an upstream."""

    def __init__(self, forwarder: Forwarder, keys: Callable[[], Sequence[bytes]]) -> None:
        """`keys`: the first one makes the tags of ids, all of them are accepted."""
        self._forwarder = forwarder
        self._keys = keys
        self._routes: TaskRoutes | None = None
        # By the id of the upstream.
        self._known: dict[str, _Known] = {}
        # Results of calls that the upstream answered at once, as tasks that have ended.
        self._finished: dict[str, TaskView] = {}
        self._reserved: set[tuple[str, str]] = set()

    def join(self, routes: TaskRoutes, keys: Callable[[], Sequence[bytes]]) -> None:
        """Share tasks with other processes, which have the same keys."""
        self._routes = routes
        self._keys = keys

    # -- creating -------------------------------------------------------------------------------

    async def prepare(
        self, call: Call, name: str, connection: UpstreamConnection, params: dict[str, Any]
    ) -> None:
        """Ask a legacy upstream for a task, if the caller wants one and the tool has them."""
        calls = connection.era.tasks
        if not isinstance(calls, LegacyTaskCalls) or not connection.era.has_capability("tasks"):
            params.pop("task", None)
        elif call.era.revision.family is Family.MODERN:
            support = await calls.find_support(name)
            if call.era.tasks.is_wanted(call) and support != "forbidden":
                params["task"] = {}
            elif support == "required":
                raise call.era.tasks.needed(name)

    def answer_call(self, call: Call, answer: UpstreamResult, *, asked: bool) -> Encoded:
        """Return the result of a tool, or the task that runs it; `asked`: for a task."""
        revision = answer.revision
        if answer.head is not None and answer.head.result_type == "task":
            return call.era.tasks.created(call, self._read(call, _Task, answer))
        is_legacy = revision.family is Family.LEGACY
        if is_legacy and asked:
            created = _decode(_Created, answer.raw)
            if created is not None:
                return call.era.tasks.created(call, self._view(call, created.task, answer))
        result = fit_result(call, "tools/call", answer.raw, revision)
        if asked and call.era.revision.family is Family.LEGACY:
            return call.era.tasks.created(call, self._finish(call, result.body))
        return result

    def _finish(self, call: Call, result: bytes) -> TaskView:
        status, message = call.era.tasks.status_of(result)
        now = time.time()
        id = self._publish(owner_of(call.principal), f"{_FINISHED}{secrets.token_hex(16)}")
        view = TaskView(
            id, status, now, now, _FINISHED_TTL_MS, 1000, message=message, result=result
        )
        _remember(self._finished, id, view)
        return view

    async def create(self, call: Call) -> TaskView:
        """Not used: the upstream creates tasks."""
        raise NotImplementedError

    # -- using ----------------------------------------------------------------------------------

    async def get(self, call: Call, id: str) -> TaskView:
        """Return a task of the caller; raises InvalidParamsError."""
        own, node = self._resolve(call, id)
        if id in self._finished:
            return self._finished[id]
        if self._routes is not None and await self._is_elsewhere(own, node):
            return await self._routes.get(call, node, id)
        known = self._known.get(own)
        home = None if known is None else known.home
        answer = await self._forwarder.forward(
            call, "tasks/get", {"taskId": own}, tasks=True, home=home
        )
        view = self._read(call, _Task, answer, id)
        if answer.revision.family is Family.MODERN:
            return view
        needs_result = call.era.revision.family is Family.MODERN or call.method == "tasks/result"
        if not needs_result or view.status in (Status.WORKING, Status.CANCELLED):
            return view
        return await self._complete(call, own, view)

    async def _complete(self, call: Call, own: str, view: TaskView) -> TaskView:
        """Add the questions or the outcome of a task of a legacy upstream."""
        known = self._known[own]
        if known.waiting is None:
            caller = self._forwarder.caller_of(call)
            home = known.home or await self._forwarder.upstream.acquire(caller)
            known.waiting = self._forwarder.start(
                home, call, caller, "tasks/result", {"taskId": own}, seconds=_RESULT_SECONDS
            )
        waiting = known.waiting
        waiting.forwarding.call = call
        asks = await waiting.outcome()
        if asks is not None:
            return replace(view, status=Status.INPUT_REQUIRED, asks=asks)
        known.waiting = None
        assert waiting.running is not None
        try:
            answer: UpstreamResult = waiting.running.result()
        except RpcError as error:
            failure = {"code": error.code, "message": error.message}
            if error.data is not None:
                failure["data"] = error.data
            return replace(view, status=Status.FAILED, error=codec.encode(failure))
        result = fit_result(call, "tools/call", answer.raw, answer.revision, _drop_related).body
        status, message = call.era.tasks.status_of(result)
        return replace(view, status=status, message=message or view.message, result=result)

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        """Poll the upstream until the task differs from `seen`."""
        while True:
            pause = (seen.poll_ms or _DEFAULT_POLL * 1000) / 1000
            await asyncio.sleep(min(max(pause, _SHORTEST_POLL), _LONGEST_POLL))
            view = await self.get(call, seen.id)
            if (view.status, view.asks.keys()) != (seen.status, seen.asks.keys()):
                return view

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Pass answers to a task; keys it did not ask for are ignored."""
        own, node = self._resolve(call, id)
        known = self._known.get(own)
        if self._routes is not None and await self._is_elsewhere(own, node):
            await self._routes.answer(call, node, id, answers)
        elif known is not None and known.waiting is not None:
            for key, given in answers.items():
                known.waiting.answer(key, codec.decode_as(dict[str, Any], given))
        elif known is None or known.home is None or not known.home.is_legacy:
            params = {"taskId": own, "inputResponses": dict(answers)}
            home = None if known is None else known.home
            await self._forwarder.forward(call, "tasks/update", params, tasks=True, home=home)

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Pass a refusal to answer on, if the upstream waits for it in this era."""
        for known in self._known.values():
            if known.public_id == id and known.waiting is not None:
                known.waiting.answer(key, InternalError(str(error)))
                return
        node = id.rpartition(_AT)[2].partition(".")[0]
        if self._routes is not None and node != self._routes.node:
            self._routes.refuse(node, id, key, str(error))

    def take(self, id: str, key: str) -> bool:
        """Reserve a question for the caller to send; False if it is reserved already."""
        if (id, key) in self._reserved:
            return False
        self._reserved.add((id, key))
        return True

    def give_back(self, id: str, key: str) -> None:
        """Release a reserved question."""
        self._reserved.discard((id, key))

    async def cancel(self, call: Call, id: str) -> tuple[TaskView, bool]:
        """Cancel a task; return it and whether it had ended before."""
        view = await self.get(call, id)
        if view.status.is_final:
            return view, True
        own, _ = self._resolve(call, id)
        known = self._known.get(own)
        home = None if known is None else known.home
        await self._forwarder.forward(call, "tasks/cancel", {"taskId": own}, tasks=True, home=home)
        if known is not None and known.waiting is not None:
            known.waiting.end()
            known.waiting = None
        return await self.get(call, id), False

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Return tasks of the caller, if the upstream lists tasks."""
        connection = await self._forwarder.upstream.acquire(self._forwarder.caller_of(call))
        if not connection.is_legacy or not self._forwarder.upstream.is_per_principal:
            # Without credentials of their own, callers would see the tasks of each other.
            raise MethodNotFoundError(
                "Method not found: 'tasks/list' is not served here: the upstream cannot tell "
                "its callers apart"
            )
        params = {} if cursor is None else {"cursor": cursor}
        answer = await self._forwarder.forward(call, "tasks/list", params, home=connection)
        page = _decode(_Page, answer.raw)
        if page is None:
            raise UpstreamError(self._forwarder.upstream.name, "sent an invalid list of tasks")
        tasks = [self._view(call, task, answer) for task in page.tasks]
        return TaskPage(tasks, page.next_cursor)

    def read_status(self, message: Notification) -> TaskView | None:
        """Return the task that a notification reports, if it was created here."""
        task = None if message.params is None else _decode(_Task, message.params)
        known = None if task is None else self._known.get(task.task_id)
        return None if task is None or known is None else _view_of(task, known.public_id)

    def close(self) -> None:
        """Give up requests that wait for results."""
        for known in self._known.values():
            if known.waiting is not None:
                known.waiting.end()

    # -- ids ------------------------------------------------------------------------------------

    def _publish(self, owner: str | None, own: str) -> str:
        id = own if self._routes is None else f"{own}{_AT}{self._routes.node}"
        return id if owner is None else f"{id}.{_tag(self._keys()[0], owner, id)}"

    def _resolve(self, call: Call, id: str) -> tuple[str, str]:
        """Return the id of the upstream and the process that created the task.

        Raises InvalidParamsError for a task of another caller.
        """
        owner = owner_of(call.principal)
        if owner is not None:
            id, _, given = id.rpartition(".")
            tags = [_tag(key, owner, id).encode() for key in self._keys()]
            if not any(secrets.compare_digest(given.encode(), tag) for tag in tags):
                raise InvalidParamsError("Unknown task")
        own, _, node = id.rpartition(_AT)
        return (id, "") if self._routes is None or not own else (own, node)

    async def _is_elsewhere(self, own: str, node: str) -> bool:
        """Whether another process has to be asked about a task."""
        if self._forwarder.upstream.is_known_as_modern and not own.startswith(_FINISHED):
            return False
        return self._routes is not None and await self._routes.leads_to(node)

    # -- reading --------------------------------------------------------------------------------

    def _read(
        self, call: Call, kind: type[_Task], answer: UpstreamResult, id: str | None = None
    ) -> TaskView:
        task = _decode(kind, answer.raw)
        if task is None:
            raise UpstreamError(self._forwarder.upstream.name, "sent an invalid task")
        return self._view(call, task, answer, id)

    def _view(
        self, call: Call, task: _Task, answer: UpstreamResult, id: str | None = None
    ) -> TaskView:
        """Return a task; `id` is the one that the caller knows, if it knows one."""
        known = self._known.get(task.task_id)
        if known is None:
            public = id or self._publish(owner_of(call.principal), task.task_id)
            known = _Known(answer.connection, public)
            _remember(self._known, task.task_id, known)
        view = _view_of(task, known.public_id)
        if task.input_requests:
            revision = call.era.revision
            asks = {
                key: Ask(
                    key,
                    str(each.get("method")),
                    fit_question(str(each.get("method")), each.get("params") or {}, revision),
                )
                for key, each in task.input_requests.items()
            }
            view = replace(view, asks=asks)
        if bytes(task.error):
            view = replace(view, error=bytes(task.error))
        elif bytes(task.result):
            result = fit_result(call, "tools/call", task.result.copy(), answer.revision).body
            status, message = call.era.tasks.status_of(result)
            view = replace(view, status=status, message=message or view.message, result=result)
        return view


def _tag(key: bytes, owner: str, id: str) -> str:
    return blake2b(codec.encode([owner, id]), key=key[:64], digest_size=12).hexdigest()


def _view_of(task: _Task, id: str) -> TaskView:
    ttl = task.ttl if task.ttl_ms is None else task.ttl_ms
    poll = task.poll_interval if task.poll_interval_ms is None else task.poll_interval_ms
    return TaskView(
        id,
        task.status,
        _read_time(task.created_at),
        _read_time(task.last_updated_at),
        None if ttl is None else round(ttl),
        round(_DEFAULT_POLL * 1000 if poll is None else poll),
        message=task.status_message,
    )


def _read_time(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return time.time()


def _decode(kind: type[Any], raw: Raw) -> Any:
    try:
        return codec.decode_as(kind, raw)
    except msgspec.ValidationError:
        return None


def _drop_related(members: dict[str, Any]) -> None:
    """Remove the id of the upstream's task from its result."""
    meta = codec.decode_as(dict[str, Raw], members.pop("_meta", b"{}"))
    meta.pop(RELATED_TASK, None)
    if meta:
        members["_meta"] = Raw(codec.encode(meta))


def _remember(table: dict[str, Any], id: str, value: Any) -> None:
    if len(table) >= _MAX_REMEMBERED:
        del table[next(iter(table))]
    table[id] = value
