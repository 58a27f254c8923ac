"""OpenTelemetry for servers and clients: the conventions for MCP, and the current span.

The names and values are those of https://github.com/open-telemetry/semantic-conventions-genai
(model/mcp). OpenTelemetry is optional and slow to import. An application that has not imported it
has no span, so nothing here imports it first.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

__all__ = [
    "BUCKETS",
    "CALLER_ERRORS",
    "ERROR_TYPE",
    "METHOD",
    "NETWORK",
    "OTHER",
    "PROTOCOL_VERSION",
    "REQUEST_ID",
    "RESOURCE_URI",
    "SERVER_ADDRESS",
    "SERVER_PORT",
    "STATUS_CODE",
    "TOOL_ERROR",
    "SpanIds",
    "continue_trace",
    "current_span_ids",
    "current_trace_context",
    "describe_target",
    "make_histograms",
    "name_span",
]

METHOD = "mcp.method.name"
PROTOCOL_VERSION = "mcp.protocol.version"
RESOURCE_URI = "mcp.resource.uri"
REQUEST_ID = "jsonrpc.request.id"
STATUS_CODE = "rpc.response.status_code"
ERROR_TYPE = "error.type"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
_TOOL = "gen_ai.tool.name"
_PROMPT = "gen_ai.prompt.name"

# The error.type of a tool result with isError.
TOOL_ERROR = "tool_error"
# Stands for a value that the peer made up, so that there are not too many different ones.
OTHER = "_OTHER"

# The bounds of all histograms, in seconds.
BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)

# The caller's mistakes: a server records these codes, but they are not errors of the server.
CALLER_ERRORS = frozenset({-32700, -32600, -32601, -32602, -32002})

# Transport -> its attributes. Others, such as calls in the same process, have none.
NETWORK: Mapping[str, Mapping[str, str]] = {
    "http": {"network.transport": "tcp", "network.protocol.name": "http"},
    "stdio": {"network.transport": "pipe"},
}

# Method -> the attribute that names what the request is about.
_TARGETS = {
    "tools/call": _TOOL,
    "prompts/get": _PROMPT,
    "resources/read": RESOURCE_URI,
    "resources/subscribe": RESOURCE_URI,
    "resources/unsubscribe": RESOURCE_URI,
}
# URIs are too many for the names of spans and the attributes of metrics.
_FEW = (_TOOL, _PROMPT)

_TRACEPARENT = "traceparent"
# Where the trace id is in `version-traceid-spanid-flags`.
_TRACE_ID = slice(3, 35)


class SpanIds(NamedTuple):
    """The ids of a span, in the form of the W3C trace context."""

    trace_id: str
    span_id: str


def current_span_ids() -> SpanIds | None:
    """Return the ids of the current span, None without one."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return SpanIds(format(context.trace_id, "032x"), format(context.span_id, "016x"))


def current_trace_context() -> dict[str, str]:
    """Return the current context as members of `_meta`, by the configured propagators."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry import propagate  # noqa: PLC0415 - optional

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def continue_trace(received: Mapping[str, Any]) -> dict[str, str]:
    """Return the members of `_meta` that replace the received ones when a request is passed on.

    Empty if the current span belongs to another trace than the request: then a span of this
    process would break the caller's trace in two.
    """
    current = current_trace_context()
    theirs = received.get(_TRACEPARENT)
    if isinstance(theirs, str) and current.get(_TRACEPARENT, "")[_TRACE_ID] != theirs[_TRACE_ID]:
        return {}
    return current


def describe_target(method: str, target: str | None) -> dict[str, str]:
    """Return the attributes for the tool, prompt or resource of a request."""
    attribute = None if target is None else _TARGETS.get(method)
    if attribute is None or target is None:
        return {}
    if attribute == _TOOL:
        return {_TOOL: target, "gen_ai.operation.name": "execute_tool"}
    return {attribute: target}


def name_span(method: str, target: str | None) -> str:
    """Return the name of a span: the method, and the name of the tool or prompt."""
    if target is None or _TARGETS.get(method) not in _FEW:
        return method
    return f"{method} {target}"


def make_histograms(
    metrics: Any, side: Literal["server", "client"], provider: Any
) -> tuple[Any, ...]:
    """Return the histograms of requests and of sessions; `metrics` is the module of the API."""
    meter = metrics.get_meter("dovetail", meter_provider=provider)
    return tuple(
        meter.create_histogram(
            f"mcp.{side}.{what}.duration",
            "s",
            f"The duration of an MCP {noun}.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        for what, noun in (("operation", "request"), ("session", "session"))
    )
