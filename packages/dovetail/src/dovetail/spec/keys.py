"""Names that the protocol reserves: `_meta` keys, levels, and the like."""

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
# Which task a message belongs to, in revisions whose messages may belong to one.
RELATED_TASK = PREFIX + "related-task"
# The extension by which tasks are agreed on, where they are one.
TASKS = PREFIX + "tasks"

# base.meta.trace-context (2026-07-28 basic/index): OpenTelemetry context, passed through.
TRACE_KEYS = ("traceparent", "tracestate", "baggage")

LogLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]

# RFC 5424 severities, mildest first: a place in this table is a rank.
LOG_LEVELS: dict[str, int] = {
    level: rank
    for rank, level in enumerate(
        ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
    )
}
