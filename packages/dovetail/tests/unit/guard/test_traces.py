"""OpenTelemetry spans, exported by the OpenTelemetry SDK."""

from __future__ import annotations

import sys
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dovetail import Server
from dovetail.errors import UsageError
from dovetail.guard import Guard, Redaction, Traces
from tests.unit.core.test_hooks import META, talk
from tests.unit.talk import run

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CANARY = "canary4711"
# A token that redaction knows by its form.
TOKEN = f"eyJhbGciOiJFUzI1NiJ9.eyJzdWIi{CANARY}.{CANARY}"


class Exported:
    """A tracer provider, and the spans that it exported."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._spans))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._spans.get_finished_spans()


def test_a_call_is_a_span_of_the_callers_trace() -> None:
    exported = Exported()
    META["traceparent"] = PARENT
    try:
        talk(Traces(exported.provider), name="echo", arguments={"text": "a"})
    finally:
        del META["traceparent"]
    [span] = exported.spans
    assert span.name == "tools/call echo"
    assert span.parent is not None
    assert format(span.parent.trace_id, "x") == PARENT.split("-")[1].lstrip("0")
    assert span.kind is trace.SpanKind.SERVER
    assert span.attributes == {
        "mcp.method.name": "tools/call",
        "mcp.name": "echo",
        "mcp.outcome": "ok",
        "mcp.protocol.version": "2026-07-28",
    }
    assert span.status.status_code is trace.StatusCode.UNSET


def test_a_failed_call_is_an_error_span() -> None:
    exported = Exported()
    talk(Traces(exported.provider), method="no/such")
    [span] = exported.spans
    assert span.parent is None
    assert span.status.status_code is trace.StatusCode.ERROR
    assert span.attributes is not None
    assert span.attributes["rpc.jsonrpc.error_code"] == -32601


# Where a caller can put a secret: method, parameters of the request.
PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    "query of a URI": ("resources/read", {"uri": f"db://rows?token={CANARY}&n=1"}),
    "fragment of a URI": ("resources/read", {"uri": f"db://rows#access_token={CANARY}"}),
    "password in a URI": ("resources/read", {"uri": f"db://anna:{CANARY}@host/rows"}),
    "name of no tool": ("tools/call", {"name": TOKEN, "arguments": {}}),
    "long name of no tool": ("tools/call", {"name": "n" * 240 + f" {TOKEN}", "arguments": {}}),
    "name of no prompt": ("prompts/get", {"name": TOKEN}),
    "name of no method": (TOKEN, {}),
    "argument": ("tools/call", {"name": "echo", "arguments": {"text": CANARY}}),
    "wrong argument": ("tools/call", {"name": "echo", "arguments": {"text": [CANARY]}}),
    "raised by a tool": ("tools/call", {"name": "fail", "arguments": {"text": CANARY}}),
    "baggage": ("tools/list", {"_meta": {"baggage": f"token={CANARY}"}}),
    "metadata": ("tools/list", {"_meta": {"example.com/token": CANARY}}),
    "cursor": ("tools/list", {"cursor": CANARY}),
}


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_of_a_request_is_in_a_span(place: str) -> None:
    exported = Exported()
    server = Server("s")

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def fail(text: str) -> str:
        raise ValueError(text)

    @server.resource("db://{+rows}")
    def rows(rows: str) -> str:
        return rows

    method, params = PLACES[place]
    meta = {**META, "traceparent": PARENT, **params.get("_meta", {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": params.get("name") or params.get("uri") or "",
        "authorization": f"Bearer {CANARY}",
    }

    async def send() -> None:
        app = server.http_app(guard=Guard(hooks=[Traces(exported.provider)]))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await client.post("/mcp", json=message, headers=headers)

    run(send())
    [span] = exported.spans
    assert CANARY not in span.to_json()


def test_more_names_of_secrets_can_be_given() -> None:
    exported = Exported()
    redaction = Redaction(names=["pin"])
    uri = f"db://rows?pin={CANARY}"
    talk(Traces(exported.provider, redaction=redaction), method="resources/read", uri=uri)
    [span] = exported.spans
    assert span.attributes is not None
    assert span.attributes["mcp.name"] == "db://rows?pin=[redacted]"


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match="opentelemetry-api"):
        Traces()
