"""Params of server notifications, and errors."""

from __future__ import annotations

from dovetail.spec import keys
from dovetail.spec.revisions import (
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)
from dovetail_check.shapes.features import RESULT
from dovetail_check.shapes.spans import Choice, Entry, Members, only, since, until

__all__ = ["ERROR_DATA", "NOTIFICATION_SHAPES"]

_PARAMS: dict[str, Entry] = {
    "_meta?": (until(V2025_11_25, "object"), since(V2026_07_28, "NotificationMeta")),
}

NOTIFICATION_SHAPES: dict[str, Members | Choice] = {
    "NotificationParams": _PARAMS,
    "NotificationMeta": {f"{keys.SUBSCRIPTION_ID}?": "string | integer"},
    "CancelledNotificationParams": {
        **_PARAMS,
        "requestId": (
            until(V2025_06_18, "string | integer"),
            since(V2026_07_28, "string | integer"),
        ),
        # Tasks are cancelled by tasks/cancel, so this revision made the id optional.
        "requestId?": only(V2025_11_25, "string | integer"),
        "reason?": "string",
    },
    "ProgressNotificationParams": {
        **_PARAMS,
        "progressToken": "string | integer",
        "progress": "number",
        "total?": "number",
        "message?": since(V2025_03_26, "string"),
    },
    "LoggingMessageNotificationParams": {
        **_PARAMS,
        "level": " | ".join(f"'{level}'" for level in keys.LOG_LEVELS),
        "logger?": "string",
        "data": "any",
    },
    "ResourceUpdatedNotificationParams": {**_PARAMS, "uri": "string"},
    "ElicitationCompleteNotificationParams": {"elicitationId": "string"},
    "SubscriptionsAcknowledgedNotificationParams": {
        **_PARAMS,
        "notifications": "SubscriptionFilter",
    },
    "SubscriptionFilter": {
        "toolsListChanged?": "boolean",
        "promptsListChanged?": "boolean",
        "resourcesListChanged?": "boolean",
        "resourceSubscriptions?": "[string]",
    },
    "SubscriptionsListenResult": {**RESULT, "_meta": "SubscriptionsListenResultMeta"},
    "SubscriptionsListenResultMeta": {
        f"{keys.SERVER_INFO}?": "Implementation",
        keys.SUBSCRIPTION_ID: "string | integer",
    },
    "Error": {"code": "integer", "message": "string", "data?": "any"},
    "UnsupportedProtocolVersionData": {"supported": "[string]", "requested": "string"},
    "MissingRequiredClientCapabilityData": {"requiredCapabilities": "ClientCapabilities"},
    "URLElicitationRequiredData": {"elicitations": "[ElicitRequestURLParams]"},
}

# The shape of error data, by error code.
ERROR_DATA: dict[int, Entry] = {
    -32042: only(V2025_11_25, "URLElicitationRequiredData"),
    -32021: since(V2026_07_28, "MissingRequiredClientCapabilityData"),
    -32022: since(V2026_07_28, "UnsupportedProtocolVersionData"),
}
