"""OpenTelemetry: the names of the conventions, and the current span."""

from __future__ import annotations

import sys

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider

from dovetail.core.telemetry import (
    continue_trace,
    current_span_ids,
    current_trace_context,
    describe_target,
    name_span,
)

TRACER = TracerProvider().get_tracer("test")
FOREIGN = f"00-{'ab' * 16}-{'cd' * 8}-01"


def test_the_current_span_is_in_the_members_of_meta() -> None:
    with TRACER.start_as_current_span("work") as span:
        token = context.attach(baggage.set_baggage("team", "red"))
        found = current_trace_context()
        context.detach(token)
    ids = span.get_span_context()
    assert found["traceparent"].startswith(f"00-{ids.trace_id:032x}-{ids.span_id:016x}-")
    assert found["baggage"] == "team=red"


def test_the_ids_are_hexadecimal_with_leading_zeros() -> None:
    given = trace.SpanContext(trace_id=0xA, span_id=0xB, is_remote=True)
    with trace.use_span(trace.NonRecordingSpan(given)):
        assert current_span_ids() == ("a".zfill(32), "b".zfill(16))


def test_there_is_nothing_without_a_span() -> None:
    assert current_trace_context() == {}
    assert current_span_ids() is None


def test_an_application_without_opentelemetry_has_no_span(monkeypatch: pytest.MonkeyPatch) -> None:
    with TRACER.start_as_current_span("work"):
        monkeypatch.delitem(sys.modules, "opentelemetry.trace")
        assert current_trace_context() == {}
        assert current_span_ids() is None


def test_a_span_of_the_callers_trace_replaces_the_callers_span() -> None:
    with TRACER.start_as_current_span("work") as span:
        trace_id = f"{span.get_span_context().trace_id:032x}"
        received = {"traceparent": f"00-{trace_id}-{'cd' * 8}-01"}
        assert continue_trace(received) == current_trace_context() != {}


@pytest.mark.parametrize("received", [{}, {"traceparent": 7}])
def test_a_request_without_a_trace_gets_the_current_span(received: dict[str, int]) -> None:
    with TRACER.start_as_current_span("work"):
        assert continue_trace(received) == current_trace_context() != {}


def test_a_span_of_another_trace_does_not_replace_the_callers_span() -> None:
    with TRACER.start_as_current_span("work"):
        assert continue_trace({"traceparent": FOREIGN}) == {}
    assert continue_trace({"traceparent": FOREIGN}) == {}


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
