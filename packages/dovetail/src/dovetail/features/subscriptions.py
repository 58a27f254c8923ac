"""Change events, independent of the era.

A change of a registry, or `resource_updated(uri)`, publishes one `ChangeEvent`. The era of a
client decides how it becomes a notification.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from dovetail.core.tasks import TaskView

__all__ = ["ChangeEvent", "ChangeKind"]


class ChangeKind(Enum):
    """What changed; the value is the method of the notification."""

    TOOLS = "notifications/tools/list_changed"
    PROMPTS = "notifications/prompts/list_changed"
    RESOURCES = "notifications/resources/list_changed"
    RESOURCE = "notifications/resources/updated"
    # The legacy era has another method for it.
    TASK = "notifications/tasks"

    @property
    def capability(self) -> str:
        """The capability that announces this notification."""
        return self.value.split("/")[1]


class ChangeEvent(NamedTuple):
    """One change; `uri` only for a single resource, `task` only for a task."""

    what: ChangeKind
    uri: str | None = None
    task: TaskView | None = None
