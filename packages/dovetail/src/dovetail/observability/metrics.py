"""Metrics in the Prometheus text format: calls, outcomes, durations, rejected requests."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable
from typing import Any

from dovetail.core.middleware import CallNext, Request, transparent
from dovetail.runtime.engine import Engine, PublicDocument

__all__ = ["Metrics"]

# Histogram bounds in seconds; an empty call takes less than the first.
_BOUNDS = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
_TEXT = b"text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Middleware that counts calls and serves the metrics at `path`.

    The page needs no credentials, so make sure that only your monitoring can reach it.
    """

    def __init__(self, path: str = "/metrics") -> None:
        self.path = path
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._rejections: Counter[int] = Counter()
        self._buckets = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0
        self._bytes = 0
        self._in_flight = 0
        self._engine: Engine | None = None

    def watch(self, engine: Engine) -> None:
        """Also render what the server shares with other processes."""
        self._engine = engine

    @transparent
    def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Awaitable[Any]:
        """Count a request."""
        self._in_flight += 1
        request.add_done_callback(self._count)
        return call_next(request)

    def _count(self, request: Request[Any]) -> None:
        self._in_flight -= 1
        # Callers choose unknown names of tools and methods, so all of those share one label.
        is_known = request.outcome in ("ok", "tool_error")
        name = (request.target or "") if is_known and request.method == "tools/call" else ""
        method = request.method if request.has_known_method else "unknown"
        self._calls[method, name, str(request.outcome)] += 1
        self._buckets[bisect_left(_BOUNDS, request.duration)] += 1
        self._seconds += request.duration
        self._bytes += request.size

    def record_rejection(self, status: int) -> None:
        """Count a rejected request."""
        self._rejections[status] += 1

    def page(self, path: str) -> PublicDocument | None:
        """The metrics page, if the path matches."""
        return PublicDocument(200, self.render().encode(), _TEXT) if path == self.path else None

    def render(self) -> str:
        """All metrics as text."""
        lines = ["# TYPE dovetail_calls_total counter"]
        for (method, name, outcome), number in sorted(self._calls.items()):
            labels = f'method="{method}",name="{name}",outcome="{outcome}"'
            lines.append(f"dovetail_calls_total{{{labels}}} {number}")
        lines.append("# TYPE dovetail_call_seconds histogram")
        total = 0
        for bound, number in zip((*_BOUNDS, "+Inf"), self._buckets, strict=True):
            total += number
            lines.append(f'dovetail_call_seconds_bucket{{le="{bound}"}} {total}')
        lines += [
            f"dovetail_call_seconds_sum {self._seconds:.6f}",
            f"dovetail_call_seconds_count {total}",
            "# TYPE dovetail_result_bytes_total counter",
            f"dovetail_result_bytes_total {self._bytes}",
            "# TYPE dovetail_calls_in_flight gauge",
            f"dovetail_calls_in_flight {self._in_flight}",
            "# TYPE dovetail_refused_total counter",
        ]
        for status, number in sorted(self._rejections.items()):
            lines.append(f'dovetail_refused_total{{status="{status}"}} {number}')
        if self._engine is not None:
            lines += _render_shared(self._engine)
        return "\n".join(lines) + "\n"


def _render_shared(engine: Engine) -> list[str]:
    processes = engine.processes
    assert processes is not None
    metrics = [
        ("dovetail_store_reachable", "gauge", int(engine.state.backend.problem is None)),
        ("dovetail_cluster_messages_total", "counter", processes.messages),
        ("dovetail_cluster_resets_total", "counter", processes.resets),
        ("dovetail_tasks_taken_over_total", "counter", processes.taken_over),
    ]
    return [
        line
        for name, kind, value in metrics
        for line in (f"# TYPE {name} {kind}", f"{name} {value}")
    ]
