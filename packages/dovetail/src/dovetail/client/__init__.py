"""A client for MCP servers of both eras, over memory, stdio and HTTP.

The other names are the types that its callbacks receive and its methods return.
"""

from __future__ import annotations

import typing as _typing

from dovetail.client.callbacks import (
    ElicitRequest,
    ElicitResponse,
    SamplingMessage,
    SamplingRequest,
    SamplingResponse,
)
from dovetail.client.channel import Channel, Connectable, OnClosed, OnMessage
from dovetail.client.client import Client
from dovetail.client.results import CallResult, Page, ReadResult
from dovetail.client.skills import Skill, SkillEntry, SkillFile
from dovetail.client.subscriptions import Change, Interest, Subscription
from dovetail.client.targets import Target
from dovetail.client.telemetry import Telemetry
from dovetail.core.schema.validator import find_problems

if _typing.TYPE_CHECKING:
    from dovetail.tasks.client import ClientTask, TaskState

__all__ = [
    "CallResult",
    "Change",
    "Channel",
    "Client",
    "ClientTask",
    "Connectable",
    "ElicitRequest",
    "ElicitResponse",
    "Interest",
    "OnClosed",
    "OnMessage",
    "Page",
    "ReadResult",
    "SamplingMessage",
    "SamplingRequest",
    "SamplingResponse",
    "Skill",
    "SkillEntry",
    "SkillFile",
    "Subscription",
    "Target",
    "TaskState",
    "Telemetry",
    "find_problems",
]


def __getattr__(name: str) -> _typing.Any:
    # Most clients start no tasks.
    if name in ("ClientTask", "TaskState"):
        from dovetail.tasks import client  # noqa: PLC0415 - see above

        return getattr(client, name)
    raise AttributeError(f"module 'dovetail.client' has no attribute {name!r}")
