"""Durations, collected by the OpenTelemetry SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import HistogramDataPoint, InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

from dovetail.auth import Guard
from dovetail.errors import UsageError
from dovetail.observability import OpenTelemetryMetrics, Traces
from tests.unit.auth.test_traces import CONVENTION, Exported, make_full_server
from tests.unit.core.test_hooks import make_server, talk, talk_to
from tests.unit.talk import run

# open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md
BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


class Collected:
    """A meter provider, and what was recorded with it."""

    def __init__(self) -> None:
        self._reader = InMemoryMetricReader()
        self.provider = MeterProvider([self._reader])

    @property
    def points(self) -> dict[str, list[HistogramDataPoint]]:
        data = self._reader.get_metrics_data()
        assert data is not None
        found: dict[str, list[Any]] = {}
        for metric in data.resource_metrics[0].scope_metrics[0].metrics:
            assert metric.unit == "s"
            found[metric.name] = list(metric.data.data_points)
        return found


@pytest.mark.parametrize("case", CONVENTION)
def test_a_duration_has_the_attributes_of_the_convention(case: str) -> None:
    params, name, attributes = CONVENTION[case]
    collected = Collected()
    talk_to(make_full_server(), OpenTelemetryMetrics(collected.provider), **params)
    [point] = collected.points["mcp.server.operation.duration"]
    assert tuple(point.explicit_bounds) == BOUNDS
    assert point.count == 1
    method = params.get("method", "tools/call")
    expected = {
        "mcp.method.name": "_OTHER" if name == "_OTHER" else method,
        "mcp.protocol.version": "2026-07-28",
        "network.transport": "pipe",
        **attributes,
    }
    # Many different values: opt-in, or made up by the caller.
    expected.pop("mcp.resource.uri", None)
    if case == "no tool":
        expected = {key: expected[key] for key in expected if not key.startswith("gen_ai")}
    assert point.attributes == expected


def test_calls_that_differ_in_their_uri_share_a_data_point() -> None:
    collected = Collected()
    metrics = OpenTelemetryMetrics(collected.provider)
    for number in range(3):
        talk(metrics, method="resources/read", uri=f"note://{number}")
        talk(metrics, name=f"absent-{number}")
        talk(metrics, method=f"no/{number}")
    counts = [point.count for point in collected.points["mcp.server.operation.duration"]]
    assert counts == [3, 3, 3]


def test_a_recorded_duration_refers_to_the_span_of_its_call() -> None:
    collected = Collected()
    middleware: list[Any] = [Traces(TracerProvider()), OpenTelemetryMetrics(collected.provider)]
    talk(*middleware, name="echo", arguments={"text": "a"})
    [point] = collected.points["mcp.server.operation.duration"]
    assert point.exemplars[0].trace_id


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
}


def test_a_session_is_recorded_once_when_it_ends() -> None:
    async def play() -> None:
        server = make_server()
        await server.start()
        guard = Guard(middleware=[OpenTelemetryMetrics(collected.provider)])
        line = server.connect(lambda _: None, guard=guard)
        line.receive(json.dumps(INITIALIZE).encode())
        await line.close()
        await line.close()

    collected = Collected()
    run(play())
    [point] = collected.points["mcp.server.session.duration"]
    assert tuple(point.explicit_bounds) == BOUNDS
    assert point.count == 1
    assert point.attributes == {
        "mcp.protocol.version": "2025-06-18",
        "network.transport": "pipe",
    }


def test_a_session_over_http_is_recorded_and_its_id_is_not() -> None:
    async def play() -> str:
        guard = Guard(
            middleware=[Traces(exported.provider), OpenTelemetryMetrics(collected.provider)]
        )
        transport = httpx.ASGITransport(make_server().http_app(guard=guard))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            client.headers["accept"] = "application/json, text/event-stream"
            id = (await client.post("/mcp", json=INITIALIZE)).headers["mcp-session-id"]
            client.headers["mcp-session-id"] = id
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            assert (await client.post("/mcp", json=ping)).status_code == 200
            assert (await client.delete("/mcp")).is_success
        return id

    exported, collected = Exported(), Collected()
    id = run(play())
    assert [span.name for span in exported.spans] == ["initialize", "ping"]
    assert not [span for span in exported.spans if id in span.to_json()]
    points = collected.points
    assert id not in str(points)
    [point] = points["mcp.server.session.duration"]
    assert point.count == 1
    assert point.attributes == {
        "mcp.protocol.version": "2025-06-18",
        "network.transport": "tcp",
        "network.protocol.name": "http",
    }


def test_a_modern_connection_is_no_session() -> None:
    collected = Collected()
    talk(OpenTelemetryMetrics(collected.provider), method="tools/list")
    assert "mcp.server.session.duration" not in collected.points


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'dovetail-mcp\[traces\]'"):
        OpenTelemetryMetrics()
