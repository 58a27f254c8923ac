"""Tasks in words of no era: what is known of one, how an era says it, what keeps them.

A task is a call whose result is fetched later. It belongs to whoever made it (the
principal) and to the revision it was made at, and is nobody else's business.
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
    """Where a task is; the value is the protocol's word."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether it stays so."""
        return self not in (Status.WORKING, Status.INPUT_REQUIRED)


@dataclass(frozen=True, slots=True, eq=False)
class TaskView:
    """A task at one moment. Times are seconds since 1970."""

    id: str
    status: Status
    created: float
    updated: float
    # None: it is kept forever.
    ttl_ms: int | None
    poll_ms: int
    message: str | None = None
    # What the request has come to, as JSON: one of them where the status says so.
    result: bytes | None = None
    error: bytes | None = None
    # What the client is asked and has not answered yet.
    asks: Mapping[str, Ask] = field(default_factory=dict)
    # How often it has changed, so that one can wait for the next time.
    version: int = 0


class TaskPage(NamedTuple):
    """Some tasks of one owner, oldest first."""

    tasks: list[TaskView]
    next_cursor: str | None


class TaskShape(ABC):
    """How an era speaks of tasks."""

    # Whether what can be asked before there is a task is asked before.
    asks_first = False

    @abstractmethod
    def is_wanted(self, call: Call) -> bool:
        """Whether this request may be answered with a task."""

    @abstractmethod
    def needed(self, label: str) -> DovetailError:
        """What to raise where only a task would do and none is wanted."""

    @abstractmethod
    def unsupported(self, label: str) -> DovetailError | None:
        """What to raise where a task is wanted of a tool that makes none; None: it just runs."""

    @abstractmethod
    def require(self, call: Call) -> None:
        """Raise unless the client may ask about tasks at all."""

    @abstractmethod
    def wanted_ttl_ms(self, call: Call) -> float | None:
        """How long the client wants the task to be kept."""

    @abstractmethod
    def created(self, call: Call, task: TaskView) -> Encoded:
        """The answer to a request that has become a task."""

    @abstractmethod
    def shown(self, task: TaskView) -> Encoded:
        """The answer to tasks/get."""

    @abstractmethod
    def cancelled(self, task: TaskView, *, was_final: bool) -> Encoded:
        """The answer to tasks/cancel; raises where the era refuses it."""

    @abstractmethod
    def status_of(self, result: bytes) -> tuple[Status, str | None]:
        """The status of a task whose request has this result, and what to say of it."""

    @abstractmethod
    def related(self, id: str, params: bytes) -> bytes | None:
        """The params of a notification that belongs to a task; None: there are none such."""


class RunningTask(Protocol):
    """A task, as the call that runs in it sees it."""

    @property
    def id(self) -> str:
        """Its id."""

    def ask(self, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Park the task until the client has answered."""

    def tell(self, method: str, params: bytes) -> None:
        """Send a notification that belongs to the task, where there are such; from any thread."""

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """Say how far the work is; safe from any thread."""

    async def recorded(self) -> None:
        """Wait until what the record holds would survive the process."""


class KeptTasks(Protocol):
    """The tasks of a server. Whoever may not see a task is told that there is none."""

    async def create(self, call: Call) -> TaskView:
        """Make a task of a request, and run it; raises LimitError."""

    async def get(self, call: Call, id: str) -> TaskView:
        """A task of the caller's; raises InvalidParamsError."""

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        """The task when it is another than `seen`; raises InvalidParamsError once it is gone."""

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Give a task what it asked for; other keys are ignored."""

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """The client will not answer; the function gets this error."""

    def take(self, id: str, key: str) -> bool:
        """Whether it is for the caller to put this question to the client."""

    def give_back(self, id: str, key: str) -> None:
        """Somebody else may put the question."""

    async def cancel(self, call: Call, id: str) -> tuple[TaskView, bool]:
        """End a task; also whether it had ended before."""

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Tasks of the caller's; raises InvalidParamsError for a cursor that is none."""


def spell_time(seconds: float) -> str:
    """A time as the protocol writes it: ISO 8601, UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
