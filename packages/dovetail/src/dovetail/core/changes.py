"""Changes that a server announces to its clients, independent of the protocol era.

A registry that changes, or `resource_updated(uri)`, publishes one `ChangeEvent`. The era of each
client decides which notification announces it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from enum import Enum
from typing import NamedTuple, Protocol

from dovetail.core.tasks import TaskView
from dovetail.wire.messages import Notification

__all__ = ["ChangeEvent", "ChangeKind", "ChangeStream"]


class ChangeKind(Enum):
    """What changed; the value is the method of the notification."""

    TOOLS = "notifications/tools/list_changed"
    PROMPTS = "notifications/prompts/list_changed"
    RESOURCES = "notifications/resources/list_changed"
    RESOURCE = "notifications/resources/updated"
    # The method differs between eras.
    TASK = "notifications/tasks"

    @property
    def capability(self) -> str:
        """The capability that a server declares for these notifications."""
        return self.value.split("/")[1]


class ChangeEvent(NamedTuple):
    """One change; `uri` is set for a single resource only, `task` for a task only.

    A change of a resource without `uri` says that any resource may have changed.

    If `load` is set, `task` has no questions and no outcome, because another process published the
    change; `load` reads the whole task.
    """

    what: ChangeKind
    uri: str | None = None
    task: TaskView | None = None
    load: Callable[[], Awaitable[TaskView]] | None = None
    # Whether other processes of a cluster learn of it in another way.
    is_local: bool = False


class ChangeStream(Protocol):
    """A request whose response is a stream of changes (subscriptions/listen)."""

    @property
    def id(self) -> bytes:
        """The id of the request, as JSON."""

    @property
    def uris(self) -> Collection[str]:
        """The resources whose updates the client asked for."""

    def wants(self, change: ChangeEvent) -> bool:
        """Whether the client asked for this change."""

    def announce(self, change: ChangeEvent) -> Notification | None:
        """The notification for this stream, or None if the client did not ask for it."""

    def cancellation(self, reason: str) -> Notification:
        """The notification that tells the client that the server ends the stream."""

    def end(self) -> None:
        """End the stream from the server's side; its request is then answered."""
