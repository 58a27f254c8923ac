"""Names and values of the OpenTelemetry semantic conventions for MCP.

Of spans and metrics, for servers and clients. The conventions are in
https://github.com/open-telemetry/semantic-conventions-genai (model/mcp). Without OpenTelemetry
itself, which is optional.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    "describe_target",
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
