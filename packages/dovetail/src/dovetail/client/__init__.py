"""A client for MCP servers of both eras, over memory, stdio and HTTP.

The other names are the types that its callbacks receive and its methods return.
"""

from __future__ import annotations

from dovetail.client.callbacks import (
    ElicitRequest,
    ElicitResponse,
    SamplingMessage,
    SamplingRequest,
    SamplingResponse,
)
from dovetail.client.channel import Channel, Connectable
from dovetail.client.client import Client
from dovetail.client.results import CallResult, Page, ReadResult
from dovetail.client.skills import Skill, SkillEntry, SkillFile
from dovetail.client.subscriptions import Change, Interest, Subscription
from dovetail.client.tasks import ClientTask, TaskState
from dovetail.client.telemetry import Telemetry

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
    "Page",
    "ReadResult",
    "SamplingMessage",
    "SamplingRequest",
    "SamplingResponse",
    "Skill",
    "SkillEntry",
    "SkillFile",
    "Subscription",
    "TaskState",
    "Telemetry",
]
