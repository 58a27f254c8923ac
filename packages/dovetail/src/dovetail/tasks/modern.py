"""Tasks of the extension io.modelcontextprotocol/tasks.

A client declares in each request that it supports tasks; the server decides whether to create
one. The result of tasks/get contains everything about a task. The client answers its questions
with tasks/update, one at a time or all at once.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import Encoded, Era
from dovetail.eras.modern.mrtr import read_responses
from dovetail.errors import DovetailError, MissingCapabilityError
from dovetail.spec.keys import TASKS
from dovetail.spec.models import TaskUpdateParams
from dovetail.tasks.shapes import TaskShape
from dovetail.tasks.views import Status, TaskView, describe_extended, detail, keeper_of
from dovetail.wire import codec

__all__ = ["ModernTasks", "require_tasks", "update_methods"]

_REQUIRED: dict[str, Any] = {"extensions": {TASKS: {}}}


class ModernTasks(TaskShape):
    """The wire format of tasks in the extension."""

    asks_first = True

    def __init__(self, era: Era) -> None:
        self._era = era

    def is_wanted(self, call: Call) -> bool:
        """xtasks.opt-in: declared per request."""
        return _declares_tasks(call)

    def needed(self, label: str) -> DovetailError:
        """xtasks.missing-capability-32021."""
        return MissingCapabilityError(
            _REQUIRED, f"{label!r} runs as a task only; this request does not declare {TASKS}"
        )

    def unsupported(self, label: str) -> DovetailError | None:
        """No error: the server decides, so the call runs without a task."""
        return None

    def require(self, call: Call) -> None:
        """xtasks.non-declaring."""
        require_tasks(call)

    def wanted_ttl_ms(self, call: Call) -> float | None:
        """xtasks.result-removed: clients cannot request a ttl."""
        return None

    def created(self, call: Call, task: TaskView) -> Encoded:
        """xtasks.resulttype-task: a flat object without the task's result."""
        return Encoded(self._era.interim("task", describe_extended(task)))

    def shown(self, task: TaskView) -> Encoded:
        """The task with the members of its status."""
        return Encoded(self._era.complete(Raw(codec.encode(detail(task)))))

    def cancelled(self, task: TaskView, *, was_final: bool) -> Encoded:
        """xtasks.update-ack: an empty acknowledgement."""
        return Encoded(self._era.complete({}))

    def status_of(self, result: bytes) -> tuple[Status, str | None]:
        """xtasks.failed-only-jsonrpc: a failed tool call is a completed task."""
        return Status.COMPLETED, None

    def related(self, id: str, params: bytes) -> bytes | None:
        """xtasks.no-progress-on-listen: no progress or log messages are sent for tasks."""
        return None


def _declares_tasks(call: Call) -> bool:
    extensions = call.peer.capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(TASKS), dict)


def require_tasks(call: Call) -> None:
    """Raise MissingCapabilityError if the request does not declare tasks."""
    if not _declares_tasks(call):
        raise MissingCapabilityError(_REQUIRED, f"This request does not declare {TASKS}")


def update_methods() -> dict[str, MethodHandler]:
    """The method handler of tasks/update."""

    async def update(call: Call) -> dict[str, Any]:
        params: TaskUpdateParams = call.params  # type: ignore[assignment]
        require_tasks(call)
        answers = read_responses(params.input_responses)
        await keeper_of(call).answer(call, params.task_id, answers)
        return {}

    return {"tasks/update": MethodHandler(update, needs_task=True)}
