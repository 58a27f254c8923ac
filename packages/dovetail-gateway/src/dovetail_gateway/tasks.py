"""Tasks of the upstream, for callers of the same era.

Between two eras a call is an ordinary one. The requests about a task are forwarded; what changes
is its id: for callers with a principal it contains a tag, because the upstream may not know the
callers apart, and nobody may use the task of another.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.core.call import Call
from dovetail.core.dispatch import Outcome
from dovetail.core.principal import owner_of
from dovetail.errors import InvalidParamsError, MethodNotFoundError
from dovetail.spec.keys import RELATED_TASK, TASKS
from dovetail.spec.models import CallToolParams, ListParams, TaskParams, TaskUpdateParams
from dovetail.spec.revisions import Family
from dovetail.tasks.eras import shape_of
from dovetail.tasks.views import Status, TaskView
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from dovetail_gateway.back_channel import SessionAsker
from dovetail_gateway.connection import UpstreamConnection
from dovetail_gateway.failures import UpstreamError
from dovetail_gateway.forwarder import Forwarder, UpstreamResult
from dovetail_gateway.results import fit_result

__all__ = ["TASK_CAPABILITY", "TASK_METHODS", "ProxyTasks"]

TASK_CAPABILITY: dict[str, Any] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
# Limit of the connections that are remembered for tasks; the oldest are forgotten first.
_MAX_REMEMBERED = 10_000
_DEFAULT_POLL_MS = 1000


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

    def view(self, id: str) -> TaskView:
        """Return the task with the id that callers know."""
        ttl = self.ttl if self.ttl_ms is None else self.ttl_ms
        poll = self.poll_interval if self.poll_interval_ms is None else self.poll_interval_ms
        return TaskView(
            id,
            self.status,
            _read_time(self.created_at),
            _read_time(self.last_updated_at),
            None if ttl is None else round(ttl),
            round(_DEFAULT_POLL_MS if poll is None else poll),
            message=self.status_message,
        )


class _Created(Struct):
    task: _Task


class _Known(Struct):
    """The connection that a task was created on, and its id for callers."""

    home: UpstreamConnection | None
    public_id: str


class _TaskAsker(SessionAsker):
    """Asks the caller that waits for the result of a task, under the id that it knows."""

    def __init__(self, id: str) -> None:
        super().__init__()
        self._id = id

    async def ask(self, call: Call, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the caller's answer; raises RpcError."""
        meta = {**(params.get("_meta") or {}), RELATED_TASK: {"taskId": self._id}}
        return await super().ask(call, method, {**params, "_meta": meta})


class ProxyTasks:
    """The tasks of an upstream."""

    def __init__(self, forwarder: Forwarder, keys: Callable[[], Sequence[bytes]]) -> None:
        """`keys`: the first one makes the tags of ids, all of them are accepted."""
        self._forwarder = forwarder
        self._keys = keys
        # The era of an upstream with tasks; None if it has none, or has not been reached yet.
        self.family: Family | None = None
        # By the id of the upstream.
        self._known: dict[str, _Known] = {}

    def join(self, keys: Callable[[], Sequence[bytes]]) -> None:
        """Use the keys of a cluster, if it has any, so that all its processes accept the ids."""
        own = self._keys
        self._keys = lambda: keys() or own()

    def attach(self, connection: UpstreamConnection) -> None:
        """Take over what a new connection says about the upstream."""
        has_tasks = _offers_tasks(connection.era.facts.capabilities)
        self.family = connection.era.revision.family if has_tasks else None

    def hide(self, call: Call, capabilities: dict[str, Any]) -> None:
        """Remove tasks from the capabilities for a caller of another era."""
        if self.family is None or self.family is call.era.revision.family:
            return
        capabilities.pop("tasks", None)
        extensions = capabilities.get("extensions", {})
        extensions.pop(TASKS, None)
        if not extensions:
            capabilities.pop("extensions", None)

    def run(self, call: Call) -> Coroutine[Any, Any, Outcome]:
        """Answer a request about a task."""
        return TASK_METHODS[call.method](self, call)

    async def call_tool(self, call: Call, params: dict[str, Any]) -> Outcome:
        """Return the result of a tool, or the task that runs it if the caller wants one."""
        given: CallToolParams = call.params  # type: ignore[assignment]
        family = call.era.revision.family
        asked = self.family is family and shape_of(call.era).is_wanted(call)
        if asked and family is Family.LEGACY:
            params["task"] = given.task

        async def check(connection: UpstreamConnection, sent: dict[str, Any]) -> None:
            # The upstream may have been replaced by one of the other era.
            if not connection.is_legacy:
                sent.pop("task", None)

        answer = await self._forwarder.forward(
            call,
            "tools/call",
            params,
            tasks=asked and family is Family.MODERN,
            prepare=check,
        )
        if asked and answer.revision.family is family:
            task = _read_created(answer)
            if task is not None:
                view = task.view(self._remember(call, task.task_id, answer))
                return shape_of(call.era).created(call, view)
        return fit_result(call, "tools/call", answer.raw, answer.revision)

    # -- requests about tasks -------------------------------------------------------------------

    async def _forward(self, call: Call, **members: Any) -> tuple[UpstreamResult, str]:
        """Send a request about a task; return the answer and the id that the caller knows."""
        params: TaskParams = call.params  # type: ignore[assignment]
        shape_of(call.era).require(call)
        id = params.task_id
        own = self._resolve(call, id)
        known = self._known.get(own)
        answer = await self._forwarder.forward(
            call,
            call.method,
            {"taskId": own, **members},
            tasks=call.era.revision.family is Family.MODERN,
            prepare=self._check_era(call),
            home=None if known is None else known.home,
            asker=_TaskAsker(id) if call.method == "tasks/result" else None,
        )
        return answer, id

    def _check_era(self, call: Call) -> Callable[[UpstreamConnection, dict[str, Any]], Any]:
        async def check(connection: UpstreamConnection, params: dict[str, Any]) -> None:
            if connection.era.revision.family is not call.era.revision.family:
                raise _unknown()

        return check

    async def _show(self, call: Call) -> Outcome:
        answer, id = await self._forward(call)

        def rename(members: dict[str, Any]) -> None:
            if "taskId" in members:
                members["taskId"] = id

        return fit_result(call, call.method, answer.raw, answer.revision, rename)

    async def _update(self, call: Call) -> Outcome:
        params: TaskUpdateParams = call.params  # type: ignore[assignment]
        answer, _ = await self._forward(call, inputResponses=params.input_responses)
        return fit_result(call, call.method, answer.raw, answer.revision)

    async def _result(self, call: Call) -> Outcome:
        answer, id = await self._forward(call)

        def rename(members: dict[str, Any]) -> None:
            meta = codec.decode_as(dict[str, Any], members.get("_meta", b"{}"))
            members["_meta"] = {**meta, RELATED_TASK: {"taskId": id}}

        return fit_result(call, "tools/call", answer.raw, answer.revision, rename)

    async def _list(self, call: Call) -> Outcome:
        if not self._forwarder.upstream.is_per_principal:
            # Without credentials of their own, callers would see the tasks of each other.
            raise MethodNotFoundError(
                "Method not found: 'tasks/list' is not served here: the upstream cannot tell "
                "its callers apart"
            )
        params: ListParams = call.params  # type: ignore[assignment]
        cursor = {} if params.cursor is None else {"cursor": params.cursor}
        answer = await self._forwarder.forward(
            call, "tasks/list", cursor, prepare=self._check_era(call)
        )

        def rename(members: dict[str, Any]) -> None:
            listed = codec.decode_as(list[dict[str, Any]], members.get("tasks", b"[]"))
            for task in listed:
                task["taskId"] = self._remember(call, str(task.get("taskId")), answer)
            members["tasks"] = listed

        try:
            return fit_result(call, call.method, answer.raw, answer.revision, rename)
        except msgspec.ValidationError:
            name = self._forwarder.upstream.name
            raise UpstreamError(name, "sent an invalid list of tasks") from None

    def read_status(self, message: Notification) -> TaskView | None:
        """Return the task that a notification reports, if it was created here."""
        task = None if message.params is None else _decode(_Task, message.params)
        known = None if task is None else self._known.get(task.task_id)
        return None if task is None or known is None else task.view(known.public_id)

    # -- ids ------------------------------------------------------------------------------------

    def _remember(self, call: Call, own: str, answer: UpstreamResult) -> str:
        """Return the id of a task for its caller."""
        known = self._known.get(own)
        if known is None:
            if len(self._known) >= _MAX_REMEMBERED:
                del self._known[next(iter(self._known))]
            owner = owner_of(call.principal)
            id = own if owner is None else f"{own}.{_tag(self._keys()[0], owner, own)}"
            known = self._known[own] = _Known(answer.connection, id)
        return known.public_id

    def _resolve(self, call: Call, id: str) -> str:
        """Return the id of the upstream; raises InvalidParamsError for the task of another."""
        owner = owner_of(call.principal)
        if owner is None:
            return id
        own, _, given = id.rpartition(".")
        tags = [_tag(key, owner, own).encode() for key in self._keys()]
        if not any(secrets.compare_digest(given.encode(), tag) for tag in tags):
            raise _unknown()
        return own


TASK_METHODS: Mapping[str, Callable[[ProxyTasks, Call], Coroutine[Any, Any, Outcome]]] = {
    "tasks/get": ProxyTasks._show,
    "tasks/cancel": ProxyTasks._show,
    "tasks/update": ProxyTasks._update,
    "tasks/result": ProxyTasks._result,
    "tasks/list": ProxyTasks._list,
}


def _offers_tasks(capabilities: Mapping[str, Any]) -> bool:
    extensions = capabilities.get("extensions")
    if isinstance(extensions, dict) and TASKS in extensions:
        return True
    tasks = capabilities.get("tasks")
    requests = tasks.get("requests") if isinstance(tasks, dict) else None
    tools = requests.get("tools") if isinstance(requests, dict) else None
    return isinstance(tools, dict) and "call" in tools


def _read_created(answer: UpstreamResult) -> _Task | None:
    if answer.head is not None:
        task = _decode(_Task, answer.raw) if answer.head.result_type == "task" else None
    else:
        created = _decode(_Created, answer.raw)
        task = None if created is None else created.task
    return task


def _tag(key: bytes, owner: str, id: str) -> str:
    return blake2b(codec.encode([owner, id]), key=key[:64], digest_size=12).hexdigest()


def _unknown() -> InvalidParamsError:
    return InvalidParamsError("Unknown task")


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
