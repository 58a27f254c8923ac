"""Prometheus metrics."""

from __future__ import annotations

from dovetail.errors import InvalidParamsError
from dovetail.observability import Metrics
from tests.unit.core.test_hooks import Notebook, talk


def test_calls_are_counted_by_method_tool_and_outcome() -> None:
    metrics = Metrics()
    for _ in range(2):
        talk(metrics, name="echo", arguments={"text": "a"})
    talk(metrics, name="crash", arguments={})
    talk(metrics, method="tools/list")
    text = metrics.render()
    for line in (
        'dovetail_calls_total{method="tools/call",name="echo",outcome="ok"} 2',
        'dovetail_calls_total{method="tools/call",name="crash",outcome="tool_error"} 1',
        'dovetail_calls_total{method="tools/list",name="",outcome="ok"} 1',
        'dovetail_call_seconds_bucket{le="+Inf"} 4',
        "dovetail_call_seconds_count 4",
        "dovetail_calls_in_flight 0",
    ):
        assert line in text.splitlines()


def test_unknown_names_do_not_become_labels() -> None:
    metrics = Metrics()
    for number in range(5):
        talk(metrics, name=f'made "up" {number}', arguments={})
        talk(metrics, method=f"made/up{number}")
    text = metrics.render()
    assert "made" not in text
    assert 'dovetail_calls_total{method="unknown",name="",outcome="error"} 5' in text


def test_unknown_methods_of_rejected_calls_do_not_become_labels() -> None:
    metrics = Metrics()
    talk(metrics, Notebook(refuse=InvalidParamsError("no")), method='made"up')
    text = metrics.render()
    assert "made" not in text
    assert 'dovetail_calls_total{method="unknown",name="",outcome="refused"} 1' in text


def test_rejected_requests_are_counted_by_status() -> None:
    metrics = Metrics()
    metrics.record_rejection(401)
    metrics.record_rejection(401)
    assert 'dovetail_refused_total{status="401"} 2' in metrics.render()


def test_the_page_is_served_at_its_path() -> None:
    metrics = Metrics("/numbers")
    assert metrics.page("/metrics") is None
    page = metrics.page("/numbers")
    assert page is not None
    assert page.content_type.startswith(b"text/plain; version=0.0.4")
    assert page.body.decode() == metrics.render()
