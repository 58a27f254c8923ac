"""OpenTelemetry spans, exported by the OpenTelemetry SDK."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dovetail import Server
from dovetail.auth import Guard
from dovetail.errors import RateLimitError, RpcError, UsageError
from dovetail.observability import AuditLog, Redaction, Traces
from tests.patience import CAP
from tests.unit.core.test_hooks import META, Notebook, make_server, talk, talk_to
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
    assert span.parent is not None
    assert format(span.parent.trace_id, "032x") == PARENT.split("-")[1]
    assert format(span.parent.span_id, "016x") == PARENT.split("-")[2]
    assert span.kind is trace.SpanKind.SERVER


# open-telemetry/semantic-conventions-genai, model/mcp/spans.yaml and common.yaml (2026-08):
# params of a request, name of its span, the attributes besides those that all spans have.
CONVENTION: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "a tool": (
        {"name": "echo", "arguments": {"text": "a"}},
        "tools/call echo",
        {"gen_ai.tool.name": "echo", "gen_ai.operation.name": "execute_tool"},
    ),
    "a failed tool": (
        {"name": "crash", "arguments": {}},
        "tools/call crash",
        {
            "gen_ai.tool.name": "crash",
            "gen_ai.operation.name": "execute_tool",
            "error.type": "tool_error",
        },
    ),
    "no tool": (
        {"name": "absent", "arguments": {}},
        "tools/call",
        {
            "gen_ai.tool.name": "absent",
            "gen_ai.operation.name": "execute_tool",
            "rpc.response.status_code": "-32602",
        },
    ),
    "a prompt": (
        {"method": "prompts/get", "name": "greet"},
        "prompts/get greet",
        {"gen_ai.prompt.name": "greet"},
    ),
    "a resource": (
        {"method": "resources/read", "uri": "note://one"},
        "resources/read",
        {"mcp.resource.uri": "note://one"},
    ),
    "no resource": (
        {"method": "resources/read", "uri": "note://absent"},
        "resources/read",
        {"mcp.resource.uri": "note://absent", "rpc.response.status_code": "-32602"},
    ),
    "a broken resource": (
        {"method": "resources/read", "uri": "note://broken"},
        "resources/read",
        {
            "mcp.resource.uri": "note://broken",
            "rpc.response.status_code": "-32603",
            "error.type": "-32603",
        },
    ),
    "a list": ({"method": "tools/list"}, "tools/list", {}),
    "no method": (
        {"method": "no/such"},
        "_OTHER",
        {"rpc.response.status_code": "-32601"},
    ),
}


@pytest.mark.parametrize("case", CONVENTION)
def test_names_and_attributes_are_those_of_the_convention(case: str) -> None:
    params, name, attributes = CONVENTION[case]
    exported = Exported()
    talk_to(make_full_server(), Traces(exported.provider), **params)
    [span] = exported.spans
    assert span.name == name
    assert span.attributes == {
        "mcp.method.name": params.get("method", "tools/call"),
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "7",
        "network.transport": "pipe",
        **attributes,
    }
    has_failed = "error.type" in attributes
    assert (span.status.status_code is trace.StatusCode.ERROR) is has_failed


def make_full_server() -> Server:
    """A server with tools, a prompt and resources."""
    server = make_server()

    @server.prompt
    def greet() -> str:
        return "hello"

    @server.resource("note://one")
    def one() -> str:
        return "1"

    @server.resource("note://broken")
    def broken() -> str:
        raise ValueError

    return server


def test_a_rejected_call_is_an_error_span() -> None:
    exported = Exported()
    refusal = Notebook(refuse=RateLimitError("later", 1.0))
    talk(Traces(exported.provider), refusal, name="echo", arguments={"text": "a"})
    [span] = exported.spans
    assert span.attributes is not None
    assert span.attributes["error.type"] == str(RateLimitError.code)
    assert span.attributes["rpc.response.status_code"] == str(RateLimitError.code)


def test_spans_of_a_handler_are_children_of_the_calls_span() -> None:
    exported = Exported()
    tracer = exported.provider.get_tracer("test")
    server = Server("s")

    @server.tool
    async def work() -> None:
        with tracer.start_as_current_span("step"):
            await asyncio.sleep(0)

    @server.tool
    def work_in_thread() -> None:
        tracer.start_span("step in thread").end()

    for name in ("work", "work_in_thread"):
        talk_to(server, Traces(exported.provider), name=name, arguments={})
        inner, outer = exported.spans[-2:]
        assert inner.parent is not None
        assert inner.parent.span_id == outer.context.span_id


def test_a_span_of_the_transport_is_linked_if_the_caller_has_one() -> None:
    exported = Exported()
    META["traceparent"] = PARENT
    tracer = exported.provider.get_tracer("test")
    try:
        with tracer.start_as_current_span("POST /mcp") as ambient:
            talk(Traces(exported.provider), method="tools/list")
    finally:
        del META["traceparent"]
    call, _ = exported.spans
    assert call.parent is not None
    assert format(call.parent.span_id, "016x") == PARENT.split("-")[2]
    assert [link.context for link in call.links] == [ambient.get_span_context()]


def test_without_a_callers_trace_the_span_of_the_transport_is_the_parent() -> None:
    exported = Exported()
    tracer = exported.provider.get_tracer("test")
    with tracer.start_as_current_span("POST /mcp") as ambient:
        talk(Traces(exported.provider), method="tools/list")
    call, _ = exported.spans
    assert call.parent == ambient.get_span_context()
    assert not call.links


def test_a_span_is_current_only_while_its_call_runs() -> None:
    async def play() -> tuple[bool, bool]:
        server = Server("s", guard=Guard(middleware=[Traces(Exported().provider)]))

        @server.tool
        def is_traced() -> bool:
            return trace.get_current_span().get_span_context().is_valid

        params = {"name": "is_traced", "arguments": {}, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = await server.handle(json.dumps(message))
        inside = json.loads(answer or b"{}")["result"]["structuredContent"]
        return inside, trace.get_current_span().get_span_context().is_valid

    assert run(play()) == (True, False)


def test_a_cancelled_call_has_its_own_error_type() -> None:
    async def play() -> None:
        server = Server("s")
        started = asyncio.Event()

        @server.tool
        async def wait() -> None:
            started.set()
            await asyncio.Event().wait()

        await server.start()
        guard = Guard(middleware=[Traces(exported.provider)])
        line = server.connect(lambda _: None, guard=guard)
        params = {"name": "wait", "arguments": {}, "_meta": META}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        line.receive(json.dumps(call).encode())
        async with asyncio.timeout(CAP):
            await started.wait()
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        line.receive(json.dumps(cancel).encode())
        await line.close()

    exported = Exported()
    run(play())
    [span] = exported.spans
    assert span.attributes is not None
    assert span.attributes["error.type"] == "cancelled"
    assert span.name == "tools/call wait"


def test_audit_lines_have_the_ids_of_the_span(tmp_path: Path) -> None:
    exported = Exported()
    audit = AuditLog(tmp_path / "audit.jsonl")
    talk(audit, Traces(exported.provider), method="tools/list")
    talk(audit, method="tools/list")
    audit.close()
    traced, plain = map(json.loads, (tmp_path / "audit.jsonl").read_text("utf-8").splitlines())
    [span] = exported.spans
    assert span.context is not None
    assert traced["trace_id"] == f"{span.context.trace_id:032x}"
    assert traced["span_id"] == f"{span.context.span_id:016x}"
    assert "trace_id" not in plain


def test_a_mounted_server_has_spans_of_its_own() -> None:
    exported = Exported()
    inner = Server("inner", guard=Guard(middleware=[Traces(exported.provider)]))

    @inner.prompt
    def broken() -> str:
        raise RpcError("no", code=-32050)

    outer = Server("outer")
    outer.mount(inner, "in")
    talk_to(outer, Traces(exported.provider), method="prompts/get", name="in_broken")
    below, above = exported.spans
    assert below.parent == above.context
    assert below.attributes is not None
    assert below.attributes["error.type"] == "-32050"
    assert "network.transport" not in below.attributes


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
    "id": ("tools/list", {"id": TOKEN}),
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
    id = params.get("id", 1)
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": params.get("name") or params.get("uri") or "",
        "authorization": f"Bearer {CANARY}",
    }

    async def send() -> None:
        app = server.http_app(guard=Guard(middleware=[Traces(exported.provider)]))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            await client.post("/mcp", json=message, headers=headers)

    run(send())
    [span] = exported.spans
    assert CANARY not in span.to_json()
    assert span.attributes is not None
    assert span.attributes["network.transport"] == "tcp"
    assert span.attributes["network.protocol.name"] == "http"


def test_more_names_of_secrets_can_be_given() -> None:
    exported = Exported()
    redaction = Redaction(names=["pin"])
    uri = f"db://rows?pin={CANARY}"
    talk(Traces(exported.provider, redaction=redaction), method="resources/read", uri=uri)
    [span] = exported.spans
    assert span.attributes is not None
    assert span.attributes["mcp.resource.uri"] == "db://rows?pin=[redacted]"


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'dovetail-mcp\[traces\]'"):
        Traces()
