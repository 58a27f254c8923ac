"""Changes that clients may want to hear of, in words of no era.

A registry that changes, or `resource_updated(uri)`, makes one `ChangeEvent`. How it reaches
a client is the business of the era that the client speaks.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from dovetail.core.tasks import TaskView

__all__ = ["ChangeEvent", "ChangeKind"]


class ChangeKind(Enum):
    """What changed; the value is the notification that says so."""

    TOOLS = "notifications/tools/list_changed"
    PROMPTS = "notifications/prompts/list_changed"
    RESOURCES = "notifications/resources/list_changed"
    RESOURCE = "notifications/resources/updated"
    # Not every era calls it so.
    TASK = "notifications/tasks"

    @property
    def capability(self) -> str:
        """The capability under which clients are told."""
        return self.value.split("/")[1]


class ChangeEvent(NamedTuple):
    """One change; `uri` only for a single resource, `task` only for a task."""

    what: ChangeKind
    uri: str | None = None
    task: TaskView | None = None
