"""Tasks, independent of the era: their data, and the interfaces of eras and of the store.

A task is a call whose result the client fetches later. It belongs to the principal that created
it and to the revision of that request; other callers cannot see it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from msgspec import Raw

from dovetail.core.era import Encoded
from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from dovetail.core.call import Ask, Call

__all__ = [
    "KeptTasks",
    "RunningTask",
    "Status",
    "TaskPage",
    "TaskShape",
    "TaskSupport",
    "TaskView",
    "spell_time",
]

TaskSupport = Literal["optional", "required", "never"]


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


@dataclass(frozen=True, slots=True, eq=False)
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


class TaskPage(NamedTuple):
    """Some tasks of one owner, oldest first."""

    tasks: list[TaskView]
    next_cursor: str | None


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


class RunningTask(Protocol):
    """The interface of a task for the call that runs in it."""

    @property
    def id(self) -> str:
        """The id of the task."""

    def ask(self, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Wait until the client has answered."""

    def tell(self, method: str, params: bytes) -> None:
        """Send a notification of the task, if the era has them; safe from any thread."""

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """Report progress; safe from any thread."""

    async def recorded(self) -> None:
        """Wait until the record is stored."""


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


def spell_time(seconds: float) -> str:
    """Return a time in the format of the protocol: ISO 8601, UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
