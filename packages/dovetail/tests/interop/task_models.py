"""Models of tasks, for what the official tables have no rows.

At 2025-11-25 they are the official models themselves. The extension io.modelcontextprotocol/tasks
has none yet; its shapes are written down here, after the page of the extension.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import mcp_types
import mcp_types._v2025_11_25 as v2025_11_25
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ["TASK_NOTIFICATIONS", "TASK_RESULTS", "CreateTaskResult", "choose_task"]

OLD, NEW = "2025-11-25", "2026-07-28"


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class _Task(_Wire):
    task_id: str
    status: str
    status_message: str = ""
    created_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")]
    last_updated_at: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")]
    ttl_ms: Annotated[int, Field(gt=0)] | None
    poll_interval_ms: Annotated[int, Field(gt=0)] = 1
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None


class _Working(_Task):
    status: Literal["working"]


class _InputRequired(_Task):
    status: Literal["input_required"]
    input_requests: Annotated[dict[str, dict[str, Any]], Field(min_length=1)]


class _Completed(_Task):
    status: Literal["completed"]
    result: mcp_types.CallToolResult


class _Error(_Wire):
    code: int
    message: str
    data: Any = None


class _Failed(_Task):
    status: Literal["failed"]
    error: _Error


class _Cancelled(_Task):
    status: Literal["cancelled"]


_STATES: dict[str, type[_Task]] = {
    "working": _Working,
    "input_required": _InputRequired,
    "completed": _Completed,
    "failed": _Failed,
    "cancelled": _Cancelled,
}


class CreateTaskResult(_Task):
    """The answer to a call that has become a task: the task, flat, with no outcome in it."""

    result_type: Literal["task"]


class _Acknowledged(_Wire):
    result_type: Literal["complete"]
    meta: Annotated[dict[str, Any], Field(alias="_meta")]


# (method, revision) -> the model of its result; None where the status decides.
TASK_RESULTS: dict[tuple[str, str], type[BaseModel] | None] = {
    ("tasks/get", OLD): v2025_11_25.GetTaskResult,
    ("tasks/result", OLD): v2025_11_25.CallToolResult,
    ("tasks/list", OLD): v2025_11_25.ListTasksResult,
    ("tasks/cancel", OLD): v2025_11_25.CancelTaskResult,
    ("tasks/get", NEW): None,
    ("tasks/update", NEW): _Acknowledged,
    ("tasks/cancel", NEW): _Acknowledged,
}

TASK_NOTIFICATIONS: dict[tuple[str, str], type[BaseModel] | None] = {
    ("notifications/tasks/status", OLD): v2025_11_25.TaskStatusNotification,
    ("notifications/tasks", NEW): None,
}


def choose_task(task: dict[str, Any]) -> type[BaseModel]:
    """The model of a task of the extension, by its status."""
    status = task.get("status")
    assert status in _STATES, f"no status of a task: {status!r}"
    return _STATES[status]
