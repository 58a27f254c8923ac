"""Names of the OpenTelemetry semantic conventions for MCP."""

from __future__ import annotations

import pytest

from dovetail.core.semantic_conventions import describe_target, name_span

# Method, target -> name of the span, attributes.
CASES: dict[tuple[str, str | None], tuple[str, dict[str, str]]] = {
    ("tools/call", "add"): (
        "tools/call add",
        {"gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool"},
    ),
    ("prompts/get", "greet"): ("prompts/get greet", {"gen_ai.prompt.name": "greet"}),
    ("resources/read", "a://b"): ("resources/read", {"mcp.resource.uri": "a://b"}),
    ("resources/subscribe", "a://b"): ("resources/subscribe", {"mcp.resource.uri": "a://b"}),
    ("resources/unsubscribe", "a://b"): ("resources/unsubscribe", {"mcp.resource.uri": "a://b"}),
    ("tools/list", None): ("tools/list", {}),
    ("tools/call", None): ("tools/call", {}),
    ("tasks/get", "4711"): ("tasks/get", {}),
}


@pytest.mark.parametrize(("method", "target"), CASES)
def test_a_request_is_named_and_described(method: str, target: str | None) -> None:
    assert (name_span(method, target), describe_target(method, target)) == CASES[method, target]
