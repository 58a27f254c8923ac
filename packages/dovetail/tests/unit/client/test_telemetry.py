"""Spans and durations of a client, exported by the OpenTelemetry SDK."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from opentelemetry import trace

from dovetail import Server
from dovetail.auth import Guard
from dovetail.client import Client, Telemetry
from dovetail.errors import PeerError, RpcError, UsageError
from dovetail.observability import Traces
from dovetail.spec.keys import TRACE_KEYS
from tests.patience import CAP
from tests.peers.scripted import DISCOVERED, ScriptedServer, run
from tests.unit.auth.test_opentelemetry_metrics import BOUNDS, Collected
from tests.unit.auth.test_traces import Exported
from tests.unit.client.real_http import serving

CANARY = "canary4711"
PARENT = f"00-{'ab' * 16}-{'cd' * 8}-01"
SCRIPT: dict[str, Any] = {
    "server/discover": DISCOVERED,
    "tools/call": {"resultType": "complete", "content": []},
    "tools/list": {"resultType": "complete", "tools": [{"name": "add", "inputSchema": {}}]},
    "prompts/get": RpcError("no", code=-32602),
    "resources/read": RpcError("down", code=-32603),
    "ping": None,
}
Step = Callable[[Client], Coroutine[Any, Any, Any]]

# open-telemetry/semantic-conventions-genai, model/mcp/spans.yaml and common.yaml (2026-08):
# what a client does, the name of the span, the attributes besides those that all spans have.
CONVENTION: dict[str, tuple[Step, str, dict[str, str]]] = {
    "tool": (
        lambda client: client.call("add", {"a": CANARY}),
        "tools/call add",
        {"gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool"},
    ),
    "prompt": (
        lambda client: client.get_prompt("greet"),
        "prompts/get greet",
        {
            "gen_ai.prompt.name": "greet",
            "rpc.response.status_code": "-32602",
            "error.type": "-32602",
        },
    ),
    "resource": (
        lambda client: client.read(f"a://b?token={CANARY}"),
        "resources/read",
        {
            "mcp.resource.uri": "a://b?token=[redacted]",
            "rpc.response.status_code": "-32603",
            "error.type": "-32603",
        },
    ),
    "list": (lambda client: client.list_tools_page(), "tools/list", {}),
    "silence": (
        lambda client: client.request("x/silent", timeout=0.001),
        "x/silent",
        {"error.type": "timeout"},
    ),
}


def observe(step: Step, script: dict[str, Any] = SCRIPT) -> tuple[Exported, Collected]:
    """What is recorded while a client does this."""
    exported, collected = Exported(), Collected()
    telemetry = Telemetry(exported.provider, collected.provider)

    async def use() -> None:
        server = ScriptedServer({**script, "x/silent": None})
        async with Client(server, mode="modern", timeout=CAP, telemetry=telemetry) as client:
            with contextlib.suppress(RpcError, TimeoutError, PeerError):
                await step(client)

    run(use())
    return exported, collected


@pytest.mark.parametrize("case", CONVENTION)
def test_a_request_is_a_span_and_a_duration_of_the_convention(case: str) -> None:
    step, name, attributes = CONVENTION[case]
    exported, collected = observe(step)
    discover, span = exported.spans
    assert discover.name == "server/discover"
    assert span.name == name
    assert span.kind is trace.SpanKind.CLIENT
    common = {"mcp.method.name": name.split(" ")[0], "mcp.protocol.version": "2026-07-28"}
    assert span.attributes == {**common, "jsonrpc.request.id": "2", **attributes}
    has_failed = "error.type" in attributes
    assert (span.status.status_code is trace.StatusCode.ERROR) is has_failed
    assert CANARY not in span.to_json()
    _, point = collected.points["mcp.client.operation.duration"]
    assert tuple(point.explicit_bounds) == BOUNDS
    attributes = {**attributes}
    # Opt-in for metrics, because there may be many.
    attributes.pop("mcp.resource.uri", None)
    assert point.attributes == {**common, **attributes}


@pytest.mark.parametrize(
    ("result", "error_type"),
    [
        ({"resultType": "complete", "content": [], "isError": True}, "tool_error"),
        # The caller gets a PeerError; the span does not hide it.
        ({"resultType": "complete", "content": [], "isError": 7}, None),
    ],
)
def test_the_result_of_a_failed_tool_is_an_error(result: Any, error_type: str | None) -> None:
    exported, _ = observe(lambda client: client.call("add"), {**SCRIPT, "tools/call": result})
    *_, span = exported.spans
    assert span.attributes is not None
    assert span.attributes.get("error.type") == error_type


def test_a_cancelled_request_and_a_lost_server_have_their_own_error_types() -> None:
    exported = Exported()

    async def use() -> None:
        heard = asyncio.Semaphore(0)

        def be_silent(_message: dict[str, Any]) -> None:
            heard.release()

        server = ScriptedServer({**SCRIPT, "x/silent": be_silent})
        telemetry = Telemetry(exported.provider)
        async with Client(server, mode="modern", timeout=CAP, telemetry=telemetry) as client:
            cancelled, lost = (asyncio.create_task(client.request("x/silent")) for _ in range(2))
            for _ in range(2):
                await heard.acquire()
            cancelled.cancel()
            await asyncio.wait([cancelled])
        await asyncio.wait([lost])
        assert lost.exception() is not None

    run(use())
    types = [(span.attributes or {}).get("error.type") for span in exported.spans]
    assert types == [None, "cancelled", "dovetail.errors.TransportError"]


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_over_http_spans_name_the_server_and_are_parents_of_its_spans(mode: str) -> None:
    exported = Exported()
    server = Server("s", guard=Guard(middleware=[Traces(exported.provider)]))

    @server.tool
    def add() -> int:
        return 1

    async def use(url: str) -> None:
        async with Client(
            url, mode=mode, timeout=CAP, telemetry=Telemetry(exported.provider)
        ) as client:
            await client.call("add")

    with serving(server.http_app()) as url:
        run(use(url))
        port = int(url.split(":")[2].partition("/")[0])
    inner, span = (span for span in exported.spans if span.name == "tools/call add")
    assert inner.parent is not None and span.context is not None
    assert inner.parent.span_id == span.context.span_id
    assert span.attributes is not None
    found = {name: span.attributes[name] for name in span.attributes if name[0] in "ns"}
    assert found == {
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "server.address": "127.0.0.1",
        "server.port": port,
    }


@pytest.mark.parametrize(("mode", "sessions"), [("2025-06-18", 1), ("modern", 0)])
def test_a_session_is_recorded_when_the_client_closes(mode: str, sessions: int) -> None:
    collected = Collected()

    async def use() -> None:
        telemetry = Telemetry(meter_provider=collected.provider)
        async with Client(Server("s"), mode=mode, timeout=CAP, telemetry=telemetry):
            assert "mcp.client.session.duration" not in collected.points

    run(use())
    points = collected.points.get("mcp.client.session.duration", [])
    assert [point.attributes for point in points] == [{"mcp.protocol.version": mode}] * sessions
    assert all(tuple(point.explicit_bounds) == BOUNDS for point in points)


def received(meta: dict[str, str] | None = None, *, traced: bool = True) -> dict[str, str]:
    """The trace context in the request that a server receives."""
    server = ScriptedServer(SCRIPT)

    async def use() -> None:
        async with Client(server, mode="modern", timeout=CAP) as client:
            await client.call("add", meta=meta)

    span = trace.NonRecordingSpan(
        trace.SpanContext(0xA, 0xB, is_remote=False, trace_flags=trace.TraceFlags(1))
    )
    with trace.use_span(span) if traced else contextlib.nullcontext():
        run(use())
    sent: dict[str, Any] = server.last("tools/call")["params"]["_meta"]
    return {name: sent[name] for name in TRACE_KEYS if name in sent}


def test_the_current_span_is_sent_without_any_switch() -> None:
    assert received() == {"traceparent": f"00-{'a'.zfill(32)}-{'b'.zfill(16)}-01"}


def test_nothing_is_sent_without_a_span() -> None:
    assert received(traced=False) == {}


def test_a_trace_context_that_the_caller_gives_is_sent_as_it_is() -> None:
    assert received({"traceparent": PARENT}) == {"traceparent": PARENT}


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'dovetail-mcp\[traces\]'"):
        Telemetry()
