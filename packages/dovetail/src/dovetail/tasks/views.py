"""Tasks, independent of the era: their data, and how each era shows them.

A task is a call whose result the client fetches later. It belongs to the principal that created
it and to the revision of that request; other callers cannot see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Raw

from dovetail.core.call import Ask, Call
from dovetail.spec.revisions import Revision

__all__ = [
    "KeptTasks",
    "Status",
    "TaskPage",
    "TaskView",
    "describe",
    "describe_extended",
    "detail",
    "keeper_of",
    "spell_time",
]


class Status(Enum):
    """The status of a task; the value is the name in the protocol."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether the status cannot change any more."""
        return self not in (Status.WORKING, Status.INPUT_REQUIRED)


@dataclass(slots=True, eq=False)
class TaskView:
    """A task at one moment. Times are seconds since 1970."""

    id: str
    status: Status
    created: float
    updated: float
    # None: the task does not expire.
    ttl_ms: int | None
    poll_ms: int
    message: str | None = None
    # The outcome of the request as JSON: one of them if the task has ended.
    result: bytes | None = None
    error: bytes | None = None
    # Questions that the client has not answered yet.
    asks: Mapping[str, Ask] = field(default_factory=dict)
    # The number of changes, to wait for the next one.
    version: int = 0

    # The capability of those who are notified of its changes.
    capability: ClassVar[str] = "tasks"

    @property
    def is_final(self) -> bool:
        """Whether the task has ended."""
        return self.status.is_final

    def notification(self, revision: Revision) -> tuple[str, dict[str, Any]]:
        """Return the method and the params of the notification of its last change."""
        if revision.extensions:
            return "notifications/tasks", detail(self)
        # tasks.notify, tasks.notify-no-related-meta (2025-11-25 basic/utilities/tasks)
        return "notifications/tasks/status", describe(self)


class TaskPage(NamedTuple):
    """Some tasks of one owner, oldest first."""

    tasks: list[TaskView]
    next_cursor: str | None


class KeptTasks(Protocol):
    """The tasks of a server. Tasks of other callers are reported as not found."""

    async def create(self, call: Call) -> TaskView:
        """Create a task for a request and run it; raises LimitError."""

    async def get(self, call: Call, id: str) -> TaskView:
        """Return a task of the caller; raises InvalidParamsError."""

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        """Wait until the task differs from `seen`; raises InvalidParamsError if it is gone."""

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Pass answers to a task; keys it did not ask for are ignored."""

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Raise this error in the handler in place of an answer."""

    def take(self, id: str, key: str) -> bool:
        """Reserve a question for the caller to send; False if it is reserved already."""

    def give_back(self, id: str, key: str) -> None:
        """Release a reserved question."""

    async def cancel(self, call: Call, id: str) -> tuple[TaskView, bool]:
        """Cancel a task; return it and whether it had ended before."""

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Return tasks of the caller; raises InvalidParamsError for an invalid cursor."""

    async def followed(self, call: Call, ids: Sequence[str]) -> list[str]:
        """Return those that belong to the caller; raises if it did not declare tasks."""


def keeper_of(call: Call) -> KeptTasks:
    """Return the tasks of the server that a call came to."""
    keeper: KeptTasks = call.services.tasks.keeper
    return keeper


def spell_time(seconds: float) -> str:
    """Return a time in the format of the protocol: ISO 8601, UTC."""
    spelled = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return f"{spelled.removesuffix('+00:00')}Z"


def describe(task: TaskView) -> dict[str, Any]:
    """The task as a JSON object of the revision that has tasks."""
    # tasks.created-at, tasks.updated-at, tasks.ttl-reported
    described: dict[str, Any] = {
        "taskId": task.id,
        "status": task.status.value,
        "createdAt": spell_time(task.created),
        "lastUpdatedAt": spell_time(task.updated),
        "ttl": task.ttl_ms,
        "pollInterval": task.poll_ms,
    }
    if task.message is not None:
        described["statusMessage"] = task.message
    return described


def describe_extended(task: TaskView) -> dict[str, Any]:
    """The task as a JSON object of the extension, without what its status adds."""
    described: dict[str, Any] = {
        "taskId": task.id,
        "status": task.status.value,
        "createdAt": spell_time(task.created),
        "lastUpdatedAt": spell_time(task.updated),
        "ttlMs": task.ttl_ms,
        "pollIntervalMs": task.poll_ms,
    }
    if task.message is not None:
        described["statusMessage"] = task.message
    return described


def detail(task: TaskView) -> dict[str, Any]:
    """xtasks.get-shapes: the task with the members of its status."""
    described = describe_extended(task)
    if task.status is Status.INPUT_REQUIRED:
        described["inputRequests"] = {
            key: {
                "method": ask.method,
                **({} if ask.params is None else {"params": Raw(ask.params)}),
            }
            for key, ask in task.asks.items()
        }
    elif task.result is not None:
        described["result"] = Raw(task.result)
    elif task.error is not None:
        described["error"] = Raw(task.error)
    return described
