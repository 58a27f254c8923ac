"""Tasks in the frames, whichever shape the revision gives them: which there are, and their states.

The core of one revision nests a new task in its result and has a request that waits for what the
task comes to. The extension after it makes the result the task, and everything is polled.
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
    "TERMINAL",
    "Glimpse",
    "call_of",
    "created_tasks",
    "describe_task",
    "glimpses",
    "id_of",
    "is_over",
    "knows_extension",
    "offers_extension",
    "related_id",
    "task_in",
]

NO_SUCH_TASK = "dovetail-check-no-such-task"
OPEN = ("working", "input_required")
TERMINAL = ("completed", "failed", "cancelled")
# Requests whose result is the task itself.
_SHOWS = ("tasks/get", "tasks/cancel")


class Glimpse(NamedTuple):
    """A task as one answer showed it."""

    where: Exchange
    task: dict[str, Any]

    @property
    def id(self) -> Any:
        """Its id, whatever was given for one."""
        return self.task.get("taskId")

    @property
    def status(self) -> Any:
        """Its status, whatever was given for one."""
        return self.task.get("status")

    @property
    def is_final(self) -> bool:
        """Whether it must stay as it is."""
        return self.status in TERMINAL

    @property
    def came(self) -> int:
        """The number of the frame that showed it."""
        answer = self.where.answer
        return self.where.sent.n if answer is None else answer.frame.n


def task_in(exchange: Exchange) -> dict[str, Any] | None:
    """The task that an answer shows; None where it shows none."""
    result = exchange.result
    if result is None:
        return None
    if exchange.method in _SHOWS:
        # An acknowledgement is no task.
        return result if "taskId" in result or "status" in result else None
    if result.get("resultType") == "task":
        return result
    nested = result.get("task")
    is_nested = isinstance(nested, dict) and "resultType" not in result
    return nested if is_nested and exchange.method == "tools/call" else None


def id_of(exchange: Exchange) -> str | None:
    """The id of the task that an answer shows, where it can be used."""
    task = task_in(exchange) or {}
    return task["taskId"] if isinstance(task.get("taskId"), str) else None


def is_over(exchange: Exchange) -> bool:
    """Whether an answer shows a task that has ended."""
    return (task_in(exchange) or {}).get("status") in TERMINAL


def created_tasks(seen: ProbeSession) -> Iterator[Glimpse]:
    """Every task, as the answer to its call showed it."""
    for exchange in seen.sent("tools/call"):
        task = task_in(exchange)
        if task is not None:
            yield Glimpse(exchange, task)


def glimpses(seen: ProbeSession) -> list[Glimpse]:
    """Every answer that shows one task, in the order in which they came."""
    found = [
        Glimpse(exchange, task)
        for exchange in seen.sent("tools/call", *_SHOWS)
        if (task := task_in(exchange)) is not None
    ]
    return sorted(found, key=lambda glimpse: glimpse.came)


def describe_task(glimpse: Glimpse) -> str:
    """A task in a few words, for the text of a note."""
    return f"the task {glimpse.id!r:.60} of {glimpse.where.method}"


def call_of(exchange: Exchange) -> bytes:
    """Which tool is called with what, the same with and without a task."""
    params = exchange.params
    return codec.encode([params.get("name"), params.get("arguments")])


def related_id(members: Any) -> Any:
    """The task that the metadata of a result or of params names; None where it names none."""
    meta = members.get("_meta") if isinstance(members, dict) else None
    related = meta.get(keys.RELATED_TASK) if isinstance(meta, dict) else None
    return related.get("taskId") if isinstance(related, dict) else None


def offers_extension(capabilities: Mapping[str, Any]) -> bool:
    """Whether capabilities, of either side, have the extension."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(keys.TASKS), dict)


def knows_extension(exchange: Exchange) -> bool:
    """Whether a request said that its client knows the extension."""
    meta = exchange.params.get("_meta")
    declared = meta.get(keys.CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
    return isinstance(declared, dict) and offers_extension(declared)
