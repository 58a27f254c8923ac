"""Names that the protocol reserves: `_meta` keys and log levels."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = [
    "CLIENT_CAPABILITIES",
    "CLIENT_INFO",
    "LOG_LEVEL",
    "LOG_LEVELS",
    "PREFIX",
    "PROGRESS_TOKEN",
    "PROTOCOL_VERSION",
    "RELATED_TASK",
    "SERVER_INFO",
    "SUBSCRIPTION_ID",
    "TASKS",
    "TRACE_KEYS",
    "LogLevel",
]

PREFIX = "io.modelcontextprotocol/"
PROTOCOL_VERSION = PREFIX + "protocolVersion"
CLIENT_INFO = PREFIX + "clientInfo"
CLIENT_CAPABILITIES = PREFIX + "clientCapabilities"
LOG_LEVEL = PREFIX + "logLevel"
SERVER_INFO = PREFIX + "serverInfo"
SUBSCRIPTION_ID = PREFIX + "subscriptionId"
PROGRESS_TOKEN = "progressToken"
# The task that a message belongs to (revisions with built-in tasks).
RELATED_TASK = PREFIX + "related-task"
# The tasks extension.
TASKS = PREFIX + "tasks"

# base.meta.trace-context (2026-07-28 basic/index): OpenTelemetry context, passed through.
TRACE_KEYS = ("traceparent", "tracestate", "baggage")

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]

# RFC 5424 severities with their rank, least severe first.
LOG_LEVELS: dict[str, int] = {
    level: rank
    for rank, level in enumerate(
        ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
    )
}
