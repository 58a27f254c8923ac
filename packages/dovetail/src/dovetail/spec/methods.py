"""The table of methods: sender, first and last revision, and params of each.

A method that the table does not have for a revision does not exist there. The capability is the one
that the *receiver* of the request must have declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from dovetail.spec import models
from dovetail.spec.revisions import (
    REVISIONS,
    V2024_11_05,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    Revision,
)

__all__ = ["METHODS", "Kind", "MethodSpec", "Sender", "methods_at"]


class Kind(Enum):
    """Whether the method has a response."""

    REQUEST = "request"
    NOTIFICATION = "notification"


class Sender(Enum):
    """Which side may send the method."""

    CLIENT = "client"
    SERVER = "server"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class MethodSpec:
    """One row of the table."""

    name: str
    kind: Kind
    sender: Sender
    since: Revision
    until: Revision
    params: type[models.Params] = models.Params
    capability: str | None = None
    # May be answered with input_required (2026-07-28 basic/patterns/mrtr#supported-requests).
    asks_back: bool = False
    # The param that Streamable HTTP mirrors in the header Mcp-Name, and its struct member.
    mirrored: str | None = None
    member: str | None = None

    def exists_at(self, revision: Revision) -> bool:
        """Whether the method is part of this revision."""
        return self.since.order <= revision.order <= self.until.order


_FIRST, _LAST_LEGACY, _NOW = V2024_11_05, V2025_11_25, V2026_07_28


def _request(
    name: str,
    since: Revision = _FIRST,
    until: Revision = _NOW,
    *,
    sender: Sender = Sender.CLIENT,
    params: type[models.Params] = models.Params,
    capability: str | None = None,
    asks_back: bool = False,
    mirrored: str | None = None,
) -> MethodSpec:
    member = "task_id" if mirrored == "taskId" else mirrored
    return MethodSpec(
        name, Kind.REQUEST, sender, since, until, params, capability, asks_back, mirrored, member
    )


def _notification(
    name: str,
    since: Revision = _FIRST,
    until: Revision = _NOW,
    *,
    sender: Sender = Sender.SERVER,
    params: type[models.Params] = models.Params,
) -> MethodSpec:
    return MethodSpec(name, Kind.NOTIFICATION, sender, since, until, params)


METHODS: tuple[MethodSpec, ...] = (
    # lifecycle
    _request("initialize", until=_LAST_LEGACY, params=models.InitializeParams),
    _notification("notifications/initialized", until=_LAST_LEGACY, sender=Sender.CLIENT),
    _request("ping", until=_LAST_LEGACY, sender=Sender.BOTH),
    _request("server/discover", V2026_07_28),
    # tools
    _request("tools/list", params=models.ListParams, capability="tools"),
    _request(
        "tools/call",
        params=models.CallToolParams,
        capability="tools",
        asks_back=True,
        mirrored="name",
    ),
    _notification("notifications/tools/list_changed"),
    # prompts
    _request("prompts/list", params=models.ListParams, capability="prompts"),
    _request(
        "prompts/get",
        params=models.GetPromptParams,
        capability="prompts",
        asks_back=True,
        mirrored="name",
    ),
    _notification("notifications/prompts/list_changed"),
    # resources
    _request("resources/list", params=models.ListParams, capability="resources"),
    _request("resources/templates/list", params=models.ListParams, capability="resources"),
    _request(
        "resources/read",
        params=models.ReadResourceParams,
        capability="resources",
        asks_back=True,
        mirrored="uri",
    ),
    _request(
        "resources/subscribe",
        until=_LAST_LEGACY,
        params=models.ResourceParams,
        capability="resources",
    ),
    _request(
        "resources/unsubscribe",
        until=_LAST_LEGACY,
        params=models.ResourceParams,
        capability="resources",
    ),
    _notification("notifications/resources/list_changed"),
    _notification("notifications/resources/updated"),
    # subscriptions
    _request("subscriptions/listen", V2026_07_28, params=models.ListenParams),
    _notification("notifications/subscriptions/acknowledged", V2026_07_28),
    # tasks: experimental in one revision, an extension with other types in the next
    _request("tasks/get", V2025_11_25, _LAST_LEGACY, params=models.TaskParams, capability="tasks"),
    _request(
        "tasks/result", V2025_11_25, _LAST_LEGACY, params=models.TaskParams, capability="tasks"
    ),
    _request("tasks/list", V2025_11_25, _LAST_LEGACY, params=models.ListParams, capability="tasks"),
    _request(
        "tasks/cancel", V2025_11_25, _LAST_LEGACY, params=models.TaskParams, capability="tasks"
    ),
    _notification("notifications/tasks/status", V2025_11_25, _LAST_LEGACY),
    *(
        _request(name, V2026_07_28, params=params, capability="tasks", mirrored="taskId")
        for name, params in (
            ("tasks/get", models.TaskParams),
            ("tasks/update", models.TaskUpdateParams),
            ("tasks/cancel", models.TaskParams),
        )
    ),
    _notification("notifications/tasks", V2026_07_28),
    # completion; 2024-11-05 has the method but no capability for it
    _request("completion/complete", params=models.CompleteParams, capability="completions"),
    # logging
    _request(
        "logging/setLevel",
        until=_LAST_LEGACY,
        params=models.SetLevelParams,
        capability="logging",
    ),
    _notification("notifications/message", params=models.LogParams),
    # progress and cancellation
    _notification(
        "notifications/progress",
        until=_LAST_LEGACY,
        sender=Sender.BOTH,
        params=models.ProgressParams,
    ),
    _notification("notifications/progress", V2026_07_28, params=models.ProgressParams),
    _notification("notifications/cancelled", sender=Sender.BOTH, params=models.CancelledParams),
    # requests from server to client: JSON-RPC requests in the legacy era, inputs in the modern one
    _request("sampling/createMessage", sender=Sender.SERVER, capability="sampling"),
    _request("roots/list", sender=Sender.SERVER, capability="roots"),
    _request(
        "elicitation/create",
        V2025_06_18,
        sender=Sender.SERVER,
        capability="elicitation",
    ),
    _notification("notifications/elicitation/complete", V2025_11_25, _LAST_LEGACY),
    _notification("notifications/roots/list_changed", until=_LAST_LEGACY, sender=Sender.CLIENT),
)


@cache
def methods_at(revision: Revision) -> dict[str, MethodSpec]:
    """The methods of one revision by name."""
    assert revision in REVISIONS
    return {method.name: method for method in METHODS if method.exists_at(revision)}
