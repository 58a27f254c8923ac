"""initialize and server/discover: server info and capabilities."""

from __future__ import annotations

from dovetail.spec import keys
from dovetail.spec.revisions import (
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)
from dovetail_check.shapes.features import RESULT
from dovetail_check.shapes.spans import Choice, Members, only, since, until

__all__ = ["INITIALIZATION"]

INITIALIZATION: dict[str, Members | Choice] = {
    "Result": RESULT,
    "EmptyResult": RESULT,
    "ResultMeta": {f"{keys.SERVER_INFO}?": "Implementation"},
    "InitializeResult": {
        **RESULT,
        "protocolVersion": "string",
        "capabilities": "ServerCapabilities",
        "serverInfo": "Implementation",
        "instructions?": "string",
    },
    "DiscoverResult": {
        **RESULT,
        "supportedVersions": "[string]",
        "capabilities": "ServerCapabilities",
        "instructions?": "string",
        "ttlMs": "count",
        "cacheScope": "'public' | 'private'",
    },
    "Implementation": {
        "name": "string",
        "version": "string",
        "title?": since(V2025_06_18, "string"),
        "description?": since(V2025_11_25, "string"),
        "websiteUrl?": since(V2025_11_25, "string"),
        "icons?": since(V2025_11_25, "[Icon]"),
    },
    "ServerCapabilities": {
        "experimental?": "{object}",
        "logging?": "object",
        "completions?": since(V2025_03_26, "object"),
        "prompts?": "ListCapability",
        "resources?": "ResourcesCapability",
        "tools?": "ListCapability",
        "tasks?": only(V2025_11_25, "TasksCapability"),
        "extensions?": since(V2026_07_28, "{object}"),
    },
    "ListCapability": {"listChanged?": "boolean"},
    "ResourcesCapability": {"subscribe?": "boolean", "listChanged?": "boolean"},
    "TasksCapability": {
        "list?": "object",
        "cancel?": "object",
        "requests?": "TaskRequestsCapability",
    },
    "TaskRequestsCapability": {"tools?": "TaskToolsCapability"},
    "TaskToolsCapability": {"call?": "object"},
    # Named by the error about missing capabilities.
    "ClientCapabilities": {
        "experimental?": "{object}",
        "roots?": "object",
        "sampling?": (until(V2025_06_18, "object"), since(V2025_11_25, "SamplingCapability")),
        "elicitation?": (
            until(V2025_06_18, "object"),
            since(V2025_11_25, "ElicitationCapability"),
        ),
        "extensions?": since(V2026_07_28, "{object}"),
    },
    "SamplingCapability": {"context?": "object", "tools?": "object"},
    "ElicitationCapability": {"form?": "object", "url?": "object"},
}
