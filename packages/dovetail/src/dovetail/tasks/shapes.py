"""`TaskShape`: the form of tasks in one era, which `shape_of` finds for a call."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dovetail.core.call import Call
from dovetail.core.era import Encoded
from dovetail.errors import DovetailError
from dovetail.tasks.views import Status, TaskView

__all__ = ["TaskShape"]


class TaskShape(ABC):
    """The form of tasks in one era."""

    # Whether `before_task` runs before the task is created.
    asks_first = False

    @abstractmethod
    def is_wanted(self, call: Call) -> bool:
        """Whether the client accepts a task as the response."""

    @abstractmethod
    def needed(self, label: str) -> DovetailError:
        """Return the error for a tool that requires a task and a client that accepts none."""

    @abstractmethod
    def unsupported(self, label: str) -> DovetailError | None:
        """Return the error for a task request to a tool without tasks; None: run it directly."""

    @abstractmethod
    def require(self, call: Call) -> None:
        """Raise unless the client has declared that it uses tasks."""

    @abstractmethod
    def wanted_ttl_ms(self, call: Call) -> float | None:
        """Return the time to live that the client requests."""

    @abstractmethod
    def created(self, call: Call, task: TaskView) -> Encoded:
        """Return the response to a request that became a task."""

    @abstractmethod
    def shown(self, task: TaskView) -> Encoded:
        """Return the response to tasks/get."""

    @abstractmethod
    def cancelled(self, task: TaskView, *, was_final: bool) -> Encoded:
        """Return the response to tasks/cancel; raises if the era does not allow it."""

    @abstractmethod
    def status_of(self, result: bytes) -> tuple[Status, str | None]:
        """Return the status and the message of a task whose request has this result."""

    @abstractmethod
    def related(self, id: str, params: bytes) -> bytes | None:
        """Return the params of a notification of a task; None if the era has none."""
