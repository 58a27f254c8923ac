"""OpenTelemetry spans, checked with the OpenTelemetry SDK."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanContext, TraceFlags, get_current_span

from dovetail.errors import UsageError
from dovetail.guard import Traces
from tests.unit.core.test_hooks import META, talk

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Span(trace.NonRecordingSpan):
    def __init__(self, name: str, parent: SpanContext, **how: Any) -> None:
        super().__init__(SpanContext(1, 2, False, TraceFlags(1)))
        self.name = name
        self.parent = parent
        self.attributes = dict(how["attributes"])
        self.kind = how["kind"]
        self.status: Any = None
        self.ended = 0

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.status = status

    def end(self, end_time: int | None = None) -> None:
        self.ended += 1


class Tracer(trace.NoOpTracer):
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def start_span(self, name: str, context: Any = None, *rest: Any, **how: Any) -> Any:
        parent = get_current_span(context).get_span_context() if context else None
        self.spans.append(Span(name, parent, **how))  # type: ignore[arg-type]
        return self.spans[-1]


class Provider(trace.NoOpTracerProvider):
    def __init__(self) -> None:
        self.tracer = Tracer()

    def get_tracer(self, *_: Any, **__: Any) -> Any:
        return self.tracer


def test_a_call_is_a_span_of_the_callers_trace() -> None:
    provider = Provider()
    META["traceparent"] = PARENT
    try:
        talk(Traces(provider), name="echo", arguments={"text": "a"})
    finally:
        del META["traceparent"]
    [span] = provider.tracer.spans
    assert span.name == "tools/call echo"
    assert format(span.parent.trace_id, "x") == PARENT.split("-")[1].lstrip("0")
    assert span.kind is trace.SpanKind.SERVER
    assert span.attributes["mcp.outcome"] == "ok"
    assert span.attributes["mcp.protocol.version"] == "2026-07-28"
    assert (span.status, span.ended) == (None, 1)


def test_a_failed_call_is_an_error_span() -> None:
    provider = Provider()
    talk(Traces(provider), method="no/such")
    [span] = provider.tracer.spans
    assert span.parent is None
    assert span.status is trace.StatusCode.ERROR
    assert span.attributes["rpc.jsonrpc.error_code"] == -32601


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match="opentelemetry-api"):
        Traces()
