"""The shape of each method: results, and params of server requests and notifications."""

from __future__ import annotations

from dovetail.spec.revisions import (
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)
from dovetail_check.shapes.spans import Entry, only, since, until

__all__ = ["NOTIFICATIONS", "REQUESTS", "RESULTS"]

# Results of client requests.
RESULTS: dict[str, Entry] = {
    "initialize": until(V2025_11_25, "InitializeResult"),
    "ping": until(V2025_11_25, "EmptyResult"),
    "server/discover": since(V2026_07_28, "DiscoverResult"),
    "tools/list": "ListToolsResult",
    "tools/call": (
        until(V2025_06_18, "CallToolResult"),
        only(V2025_11_25, "CallToolResult | CreateTaskResult"),
        since(V2026_07_28, "CallToolResult"),
    ),
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": until(V2025_11_25, "EmptyResult"),
    "resources/unsubscribe": until(V2025_11_25, "EmptyResult"),
    "subscriptions/listen": since(V2026_07_28, "SubscriptionsListenResult"),
    "completion/complete": "CompleteResult",
    "logging/setLevel": until(V2025_11_25, "EmptyResult"),
    "tasks/get": since(V2025_11_25, "GetTaskResult"),
    "tasks/cancel": since(V2025_11_25, "CancelTaskResult"),
    "tasks/list": only(V2025_11_25, "ListTasksResult"),
    # The result that the original request would have had.
    "tasks/result": only(V2025_11_25, "Result"),
    "tasks/update": since(V2026_07_28, "EmptyResult"),
}

# Params of server requests; a question mark means that they are optional.
REQUESTS: dict[str, Entry] = {
    "ping?": until(V2025_11_25, "AnyRequestParams"),
    "roots/list?": until(V2025_11_25, "AnyRequestParams"),
    "sampling/createMessage": until(V2025_11_25, "CreateMessageRequestParams"),
    "elicitation/create": (
        only(V2025_06_18, "ElicitRequestFormParams"),
        only(V2025_11_25, "ElicitRequestParams"),
    ),
    "tasks/get": only(V2025_11_25, "TaskIdParams"),
    "tasks/result": only(V2025_11_25, "TaskIdParams"),
    "tasks/cancel": only(V2025_11_25, "TaskIdParams"),
    "tasks/list?": only(V2025_11_25, "AnyRequestParams"),
}

# Params of server notifications.
NOTIFICATIONS: dict[str, Entry] = {
    "notifications/cancelled": "CancelledNotificationParams",
    "notifications/progress": "ProgressNotificationParams",
    "notifications/message": "LoggingMessageNotificationParams",
    "notifications/resources/updated": "ResourceUpdatedNotificationParams",
    "notifications/resources/list_changed?": "NotificationParams",
    "notifications/tools/list_changed?": "NotificationParams",
    "notifications/prompts/list_changed?": "NotificationParams",
    "notifications/tasks/status": only(V2025_11_25, "TaskStatusNotificationParams"),
    "notifications/elicitation/complete": only(
        V2025_11_25, "ElicitationCompleteNotificationParams"
    ),
    "notifications/subscriptions/acknowledged": since(
        V2026_07_28, "SubscriptionsAcknowledgedNotificationParams"
    ),
    "notifications/tasks": since(V2026_07_28, "TaskStatusNotificationParams"),
}
