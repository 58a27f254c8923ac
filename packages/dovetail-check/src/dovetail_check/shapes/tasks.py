"""Tasks: in the core of 2025-11-25, later an extension with other shapes."""

from __future__ import annotations

from dovetail.spec.revisions import V2025_11_25, V2026_07_28
from dovetail_check.shapes.features import RESULT
from dovetail_check.shapes.spans import Choice, Entry, Members, only, since

__all__ = ["TASKS"]

_STATUS = "'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'"

_TASK: dict[str, Entry] = {
    "taskId": "string",
    "status": _STATUS,
    "statusMessage?": "string",
    "createdAt": "string",
    "lastUpdatedAt": "string",
    "ttl": only(V2025_11_25, "integer | null"),
    "pollInterval?": only(V2025_11_25, "integer"),
    # The extension (SEP-2663) put the unit into the names.
    "ttlMs": since(V2026_07_28, "integer | null"),
    "pollIntervalMs?": since(V2026_07_28, "integer"),
}

TASKS: dict[str, Members | Choice] = {
    "Task": _TASK,
    "TaskMetadata": {"ttl?": "integer"},
    "RelatedTaskMetadata": {"taskId": "string"},
    # In the core the result contains the task; in the extension the result is the task.
    "CreateTaskResult": {"=": (only(V2025_11_25, "NestedTask"), since(V2026_07_28, "FlatTask"))},
    "NestedTask": {**RESULT, "task": "Task"},
    "FlatTask": {**RESULT, **_TASK, "resultType": "'task'"},
    "GetTaskResult": {
        "=": (only(V2025_11_25, "PlainTaskResult"), since(V2026_07_28, "DetailedTask"))
    },
    "CancelTaskResult": {
        "=": (only(V2025_11_25, "PlainTaskResult"), since(V2026_07_28, "EmptyResult"))
    },
    "PlainTaskResult": {**RESULT, **_TASK},
    "DetailedTask": Choice(
        "status",
        {
            "working": "PlainTaskResult",
            "input_required": "AskingTask",
            "completed": "CompletedTask",
            "failed": "FailedTask",
            "cancelled": "PlainTaskResult",
        },
    ),
    "AskingTask": {**RESULT, **_TASK, "inputRequests": "{InputRequest}"},
    "CompletedTask": {**RESULT, **_TASK, "result": "object"},
    "FailedTask": {**RESULT, **_TASK, "error": "object"},
    "ListTasksResult": {**RESULT, "nextCursor?": "string", "tasks": "[Task]"},
    "TaskIdParams": {"taskId": "string", "_meta?": "RequestMeta"},
    "TaskStatusNotificationParams": {**_TASK, "_meta?": "object"},
}
