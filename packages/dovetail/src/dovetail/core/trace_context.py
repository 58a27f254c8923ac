"""The current OpenTelemetry span, for `_meta` of outgoing requests and for log lines.

OpenTelemetry is optional and slow to import. An application that has not imported it has no span,
so nothing here imports it first.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["SpanIds", "continue_trace", "current_span_ids", "current_trace_context"]

_TRACEPARENT = "traceparent"
# Where the trace id is in `version-traceid-spanid-flags`.
_TRACE_ID = slice(3, 35)


class SpanIds(NamedTuple):
    """The ids of a span, in the form of the W3C trace context."""

    trace_id: str
    span_id: str


def current_span_ids() -> SpanIds | None:
    """Return the ids of the current span, None without one."""
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return SpanIds(format(context.trace_id, "032x"), format(context.span_id, "016x"))


def current_trace_context() -> dict[str, str]:
    """Return the current context as members of `_meta`, by the configured propagators."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry import propagate  # noqa: PLC0415 - optional

    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def continue_trace(received: Mapping[str, Any]) -> dict[str, str]:
    """Return the members of `_meta` that replace the received ones when a request is passed on.

    Empty if the current span belongs to another trace than the request: then a span of this
    process would break the caller's trace in two.
    """
    current = current_trace_context()
    theirs = received.get(_TRACEPARENT)
    if isinstance(theirs, str) and current.get(_TRACEPARENT, "")[_TRACE_ID] != theirs[_TRACE_ID]:
        return {}
    return current
