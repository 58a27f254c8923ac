"""Changes that a server announces to its clients, independent of the protocol era.

A registry that changes, or `resource_updated(uri)`, publishes one `ChangeEvent`. The era of each
client decides which notification announces it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from enum import Enum
from typing import Any, NamedTuple, Protocol

from dovetail.spec.revisions import Revision
from dovetail.wire.messages import Notification

__all__ = ["ChangeEvent", "ChangeKind", "ChangeStream", "ChangedItem"]


class ChangeKind(Enum):
    """What changed; the value is the method of the notification."""

    TOOLS = "notifications/tools/list_changed"
    PROMPTS = "notifications/prompts/list_changed"
    RESOURCES = "notifications/resources/list_changed"
    RESOURCE = "notifications/resources/updated"
    # Something that an extension follows by its id.
    ITEM = ""

    @property
    def capability(self) -> str:
        """The capability that a server declares for these notifications."""
        return self.value.split("/")[1]


class ChangedItem(Protocol):
    """The state of an item that clients follow by its id, such as a task."""

    @property
    def id(self) -> str:
        """The id."""

    @property
    def updated(self) -> float:
        """When it changed, in seconds since 1970."""

    @property
    def is_final(self) -> bool:
        """Whether it will not change again."""

    @property
    def capability(self) -> str:
        """The capability that a server declares for these notifications."""

    def notification(self, revision: Revision) -> tuple[str, dict[str, Any]]:
        """Return the method and the params of the notification at a revision."""


class ChangeEvent(NamedTuple):
    """One change; `uri` is set for a single resource only, `item` for an item only.

    A change of a resource without `uri` says that any resource may have changed.

    If `load` is set, `item` is not complete, because another process published the change; `load`
    reads the whole item.
    """

    what: ChangeKind
    uri: str | None = None
    item: ChangedItem | None = None
    load: Callable[[], Awaitable[ChangedItem]] | None = None
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
