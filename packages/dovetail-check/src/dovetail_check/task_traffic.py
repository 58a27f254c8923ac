"""Tasks in the traffic, in the shapes of both eras: their ids and states.

2025-11-25 nests a new task in the result and has a request that waits for the task result. In the
extension of the modern era the result is the task, and clients poll.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail.wire import codec
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession

__all__ = [
    "NO_SUCH_TASK",
    "OPEN",
    "SLOW",
    "TERMINAL",
    "TaskSnapshot",
    "call_of",
    "created_tasks",
    "declares_extension",
    "describe_task",
    "id_of",
    "is_over",
    "offers_extension",
    "related_id",
    "task_in",
    "task_snapshots",
]

NO_SUCH_TASK = "dovetail-check-no-such-task"
OPEN = ("working", "input_required")
TERMINAL = ("completed", "failed", "cancelled")
# Seconds after which a task was not returned immediately.
SLOW = 1.0
# Requests whose result is the task itself.
_RETURN_TASK = ("tasks/get", "tasks/cancel")


class TaskSnapshot(NamedTuple):
    """The state of a task in one response."""

    where: Exchange
    task: dict[str, Any]

    @property
    def id(self) -> Any:
        """The value of `taskId`, of any type."""
        return self.task.get("taskId")

    @property
    def status(self) -> Any:
        """The value of `status`, of any type."""
        return self.task.get("status")

    @property
    def is_final(self) -> bool:
        """Whether the status is terminal."""
        return self.status in TERMINAL

    @property
    def frame_number(self) -> int:
        """The number of the frame with the response."""
        answer = self.where.answer
        return self.where.sent.n if answer is None else answer.frame.n


def task_in(exchange: Exchange) -> dict[str, Any] | None:
    """The task in a response; None if there is none."""
    result = exchange.result
    if result is None:
        return None
    if exchange.method in _RETURN_TASK:
        # The modern era acknowledges tasks/cancel with an empty result.
        return result if "taskId" in result or "status" in result else None
    if result.get("resultType") == "task":
        return result
    nested = result.get("task")
    is_nested = isinstance(nested, dict) and "resultType" not in result
    return nested if is_nested and exchange.method == "tools/call" else None


def id_of(exchange: Exchange) -> str | None:
    """The id of the task in a response, if it is a string."""
    task = task_in(exchange) or {}
    return task["taskId"] if isinstance(task.get("taskId"), str) else None


def is_over(exchange: Exchange) -> bool:
    """Whether a response shows a task with a terminal status."""
    return (task_in(exchange) or {}).get("status") in TERMINAL


def created_tasks(session: ProbeSession) -> Iterator[TaskSnapshot]:
    """Every new task, as the response to its tools/call showed it."""
    for exchange in session.sent("tools/call"):
        task = task_in(exchange)
        if task is not None:
            yield TaskSnapshot(exchange, task)


def task_snapshots(session: ProbeSession) -> list[TaskSnapshot]:
    """The tasks in all responses, in the order of the responses."""
    found = [
        TaskSnapshot(exchange, task)
        for exchange in session.sent("tools/call", *_RETURN_TASK)
        if (task := task_in(exchange)) is not None
    ]
    return sorted(found, key=lambda snapshot: snapshot.frame_number)


def describe_task(snapshot: TaskSnapshot) -> str:
    """Describe a task for the text of a note."""
    return f"the task {snapshot.id!r:.60} of {snapshot.where.method}"


def call_of(exchange: Exchange) -> bytes:
    """A key for the tool and arguments of a call, the same with and without a task."""
    params = exchange.params
    return codec.encode([params.get("name"), params.get("arguments")])


def related_id(members: Any) -> Any:
    """The task id in the metadata of a result or of params; None if there is none."""
    meta = members.get("_meta") if isinstance(members, dict) else None
    related = meta.get(keys.RELATED_TASK) if isinstance(meta, dict) else None
    return related.get("taskId") if isinstance(related, dict) else None


def offers_extension(capabilities: Mapping[str, Any]) -> bool:
    """Whether the capabilities of a client or server include the tasks extension."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(keys.TASKS), dict)


def declares_extension(exchange: Exchange) -> bool:
    """Whether a request declared that the client supports the tasks extension."""
    meta = exchange.params.get("_meta")
    declared = meta.get(keys.CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
    return isinstance(declared, dict) and offers_extension(declared)
