"""The experimental tasks of 2025-11-25 (basic/utilities/tasks).

The client requests a task in the params of a call, polls it, and gets the result with
tasks/result, which waits for the end. While such a request waits, the task's own requests are
sent to the client.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.core.call import Ask, Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import Encoded
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.eras.legacy.session import session_of
from dovetail.errors import (
    DovetailError,
    InvalidParamsError,
    LimitError,
    MethodNotFoundError,
    RpcError,
    ToolError,
    TransportError,
)
from dovetail.spec.keys import RELATED_TASK
from dovetail.spec.models import CallToolParams, ListParams, TaskParams, TaskRequest
from dovetail.spec.revisions import Revision
from dovetail.tasks.shapes import TaskShape
from dovetail.tasks.views import Status, TaskView, describe, keeper_of
from dovetail.wire import codec

__all__ = ["LegacyTasks", "result_methods"]

# Maximum characters of a tool error that are repeated in the status of its task.
_MAX_MESSAGE = 500
# Maximum tasks with notifications per session; clients have to poll the others.
_MAX_NOTIFIED_TASKS = 1000


class _Block(Struct):
    text: str = ""


class _Called(Struct, rename="camel"):
    is_error: bool = False
    content: list[_Block] = []


class _Failure(Struct):
    code: int
    message: str
    data: Any = None


class LegacyTasks(TaskShape):
    """The wire format of tasks in legacy revisions, if they have tasks."""

    def __init__(self, revision: Revision) -> None:
        self._revision = revision

    def is_wanted(self, call: Call) -> bool:
        """Whether the params request a task."""
        params = call.params
        asked = isinstance(params, CallToolParams) and params.task is not UNSET
        return asked and self._revision.tasks

    def needed(self, label: str) -> DovetailError:
        """tasks.tool.required-32601; a tool error if the revision has no tasks."""
        if self._revision.tasks:
            return MethodNotFoundError(
                f"{label!r} runs as a task only: call it with `task` in the params"
            )
        return ToolError(
            f"{label!r} runs as a task only, and {self._revision}, which the client speaks, has no "
            "tasks."
        )

    def unsupported(self, label: str) -> DovetailError | None:
        """tasks.tool.forbidden-32601."""
        return MethodNotFoundError(
            f"{label!r} does not run as a task: call it without `task` in the params"
        )

    def require(self, call: Call) -> None:
        """Legacy sessions need no declaration."""

    def wanted_ttl_ms(self, call: Call) -> float | None:
        """The ttl in the params; raises InvalidParamsError."""
        params = call.params
        assert isinstance(params, CallToolParams)
        try:
            return codec.decode_as(TaskRequest, params.task).ttl  # type: ignore[arg-type]
        except msgspec.ValidationError as error:
            raise InvalidParamsError(f"Invalid params: task: {error}") from None

    def created(self, call: Call, task: TaskView) -> Encoded:
        """tasks.create-result; the session is notified of its changes."""
        session = session_of(call)
        if session is not None and session.is_kept:
            if len(session.tasks) >= _MAX_NOTIFIED_TASKS:
                session.tasks.pop()
            session.watch_task(task.id)
        return Encoded(codec.encode({"task": describe(task)}))

    def shown(self, task: TaskView) -> Encoded:
        """tasks.get-no-related-meta: only the task."""
        return Encoded(codec.encode(describe(task)))

    def cancelled(self, task: TaskView, *, was_final: bool) -> Encoded:
        """tasks.cancel-status; a finished task cannot be cancelled."""
        if was_final:
            # tasks.cancel-terminal-32602
            raise InvalidParamsError(f"The task has ended already: it is {task.status.value}")
        return self.shown(task)

    def status_of(self, result: bytes) -> tuple[Status, str | None]:
        """A failed tool call is a failed task, with the error as status message."""
        called = codec.decode_as(_Called, result)
        if not called.is_error:
            return Status.COMPLETED, None
        # tasks.failed-message
        text = "\n".join(block.text for block in called.content if block.text)
        return Status.FAILED, text[:_MAX_MESSAGE] or "The tool failed without saying why."

    def related(self, id: str, params: bytes) -> bytes | None:
        """tasks.related-meta-on-requests."""
        return _add_task_id(id, params)


def _add_task_id(id: str, members: bytes | None) -> bytes:
    """Add the task id to the `_meta` of a JSON object."""
    given = codec.decode_as(dict[str, Raw], members or b"{}")
    meta = codec.decode_as(dict[str, Raw], given.get("_meta", b"{}"))
    meta[RELATED_TASK] = Raw(codec.encode({"taskId": id}))
    return codec.encode({**given, "_meta": meta})


def result_methods() -> dict[str, MethodHandler]:
    """The method handlers of tasks/result and tasks/list."""

    async def result(call: Call) -> Encoded:
        params: TaskParams = call.params  # type: ignore[assignment]
        task = await keeper_of(call).get(call, params.task_id)
        # tasks.result-blocks
        task = await _ResultWaiter(call, task).wait()
        if task.result is not None:
            # tasks.result-terminal, tasks.result-related-meta
            return Encoded(_add_task_id(task.id, task.result))
        if task.error is not None:
            # tasks.failed-error-same
            failure = codec.decode_as(_Failure, task.error)
            raise RpcError(failure.message, failure.data, code=failure.code)
        raise InvalidParamsError("The task was cancelled: there is no result")

    async def list_tasks(call: Call) -> dict[str, Any]:
        if call.principal is None:
            # tasks.list-not-anonymous: all clients would see all tasks
            raise MethodNotFoundError(
                "Method not found: 'tasks/list' is not served to callers who cannot be told apart"
            )
        params: ListParams = call.params  # type: ignore[assignment]
        page = await keeper_of(call).page(call, params.cursor)
        listed: dict[str, Any] = {"tasks": [describe(task) for task in page.tasks]}
        if page.next_cursor is not None:
            # tasks.list-next-cursor
            listed["nextCursor"] = page.next_cursor
        return listed

    return {
        "tasks/result": MethodHandler(result, needs_task=True),
        "tasks/list": MethodHandler(list_tasks, needs_task=True),
    }


class _ResultWaiter:
    """Waits for the end of a task and sends its requests to the waiting client."""

    def __init__(self, call: Call, task: TaskView) -> None:
        self._call = call
        self._tasks = keeper_of(call)
        self._task = task
        self._asking: dict[str, asyncio.Task[None]] = {}

    async def wait(self) -> TaskView:
        """The finished task."""
        try:
            while not self._task.status.is_final:
                for key, ask in self._task.asks.items():
                    self._send(key, ask)
                self._task = await self._tasks.changed(self._call, self._task)
            return self._task
        finally:
            for asking in self._asking.values():
                asking.cancel()

    def _send(self, key: str, ask: Ask) -> None:
        session = session_of(self._call)
        capability = ask.method.partition("/")[0]
        if session is None or session.back_channel is None or not session.ready:
            return
        if key in self._asking or capability not in session.capabilities:
            return
        if self._tasks.take(self._task.id, key):
            delivery = self._deliver(key, ask, session.back_channel)
            self._asking[key] = asyncio.create_task(delivery)

    async def _deliver(self, key: str, ask: Ask, channel: BackChannel) -> None:
        call, id = self._call, self._task.id
        ask = ask._replace(params=_add_task_id(id, ask.params))
        try:
            answer = await call.waiting(channel.request(ask, call.link.send))
        except RpcError as error:
            # The client refused; the model reads this as a tool error.
            refusal = ToolError(f"The client refused {ask.method}: {error.message}")
            self._tasks.refuse(id, key, refusal)
        except LimitError as error:
            self._tasks.refuse(id, key, error)
        except (TransportError, asyncio.CancelledError):
            # The next client that waits for the result gets the request.
            self._tasks.give_back(id, key)
        else:
            await self._tasks.answer(call, id, {key: answer})
