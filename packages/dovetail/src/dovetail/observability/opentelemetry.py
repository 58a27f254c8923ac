"""OpenTelemetry spans and metrics of requests, by the semantic conventions for MCP.

Left out on purpose: `mcp.session.id`, because a legacy session id is a credential;
`client.address`, because it is personal data and behind a balancer it is the balancer's; the
description of a status, because error messages may quote arguments.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import Any

from dovetail.core.middleware import CallNext, Request, transparent
from dovetail.core.redaction import Redaction
from dovetail.core.telemetry import (
    CALLER_ERRORS,
    ERROR_TYPE,
    METHOD,
    NETWORK,
    OTHER,
    PROTOCOL_VERSION,
    REQUEST_ID,
    RESOURCE_URI,
    STATUS_CODE,
    TOOL_ERROR,
    current_span_ids,
    describe_target,
    make_histograms,
    name_span,
)
from dovetail.errors import MissingPackageError

__all__ = ["OpenTelemetryMetrics", "Traces"]


class Traces:
    """Middleware that creates a span per call, with the configured tracer provider.

    The span continues the trace in `_meta` of the request, and is the current span while the call
    runs. Spans have no arguments and no results; secrets in names and URIs are redacted.
    """

    def __init__(self, provider: Any = None, *, redaction: Redaction | None = None) -> None:
        with MissingPackageError.when_importing("opentelemetry", "Traces", "dovetail-mcp[traces]"):
            from opentelemetry import context, propagate, trace  # noqa: PLC0415 - optional
        self._clean = (redaction or Redaction()).clean_name
        self._trace = trace
        self._context = context
        self._extract = propagate.extract
        self._fields = propagate.get_global_textmap().fields
        self._tracer = trace.get_tracer("dovetail", tracer_provider=provider)

    @transparent
    def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Awaitable[Any]:
        """Run a request in a span that is a child of the caller's span."""
        self._start(request)
        return call_next(request)

    def _start(self, request: Request[Any]) -> None:
        # Callers choose URIs and ids, and may call what does not exist by any name.
        method = request.method if request.has_known_method else self._clean(request.method)
        target = None if request.target is None else self._clean(request.target)
        parent, links = self._find_parent(request)
        span = self._tracer.start_span(
            # The names of spans are few.
            name_span(method, target) if request.has_known_method else OTHER,
            context=parent,
            kind=self._trace.SpanKind.SERVER,
            attributes={
                METHOD: method,
                PROTOCOL_VERSION: request.revision,
                REQUEST_ID: self._clean(str(request.request_id)),
                **NETWORK.get(request.transport, {}),
                **describe_target(method, target),
            },
            links=links,
        )
        token = self._context.attach(self._trace.set_span_in_context(span, parent))
        request.span_ids = current_span_ids()
        request.add_done_callback(partial(self._end, span, token))

    def _find_parent(self, request: Request[Any]) -> tuple[Any, list[Any] | None]:
        """The context in `_meta`, and a link to the span of the transport, if there is one."""
        # base.meta.trace-context (2026-07-28 basic/index): W3C trace context
        meta = request.meta
        carrier = {name: meta[name] for name in self._fields if isinstance(meta.get(name), str)}
        if not carrier:
            return None, None
        parent = self._extract(carrier)
        current = self._trace.get_current_span().get_span_context()
        found = self._trace.get_current_span(parent).get_span_context()
        if not current.is_valid or current.span_id == found.span_id:
            return parent, None
        return parent, [self._trace.Link(current)]

    def _end(self, span: Any, token: Any, request: Request[Any]) -> None:
        code, error_type = request.code, _find_error_type(request)
        if code is not None:
            span.set_attribute(STATUS_CODE, str(code))
        if error_type is not None:
            span.set_attribute(ERROR_TYPE, error_type)
            span.set_status(self._trace.StatusCode.ERROR)
        if request.has_known_method and not request.has_known_target:
            span.update_name(request.method)
        span.end()
        self._context.detach(token)


class OpenTelemetryMetrics:
    """Middleware that records durations, with the configured meter provider.

    Put it after `Traces`, so that the recorded values can refer to their span.
    """

    def __init__(self, provider: Any = None) -> None:
        with MissingPackageError.when_importing(
            "opentelemetry", "OpenTelemetryMetrics", "dovetail-mcp[traces]"
        ):
            from opentelemetry import metrics  # noqa: PLC0415 - optional
        self._calls, self._sessions = make_histograms(metrics, "server", provider)

    @transparent
    def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Awaitable[Any]:
        """Record the duration of a request."""
        request.add_done_callback(self._record)
        return call_next(request)

    def _record(self, request: Request[Any]) -> None:
        # Callers choose unknown names and URIs, and each combination of attributes takes memory.
        target = request.target if request.has_known_target else None
        attributes: dict[str, str] = {
            METHOD: request.method if request.has_known_method else OTHER,
            PROTOCOL_VERSION: request.revision,
            **NETWORK.get(request.transport, {}),
            **describe_target(request.method, target),
        }
        attributes.pop(RESOURCE_URI, None)
        code, error_type = request.code, _find_error_type(request)
        if code is not None:
            attributes[STATUS_CODE] = str(code)
        if error_type is not None:
            attributes[ERROR_TYPE] = error_type
        self._calls.record(request.duration, attributes)

    def session_ended(self, revision: str, transport: str, duration: float) -> None:
        """Record the duration of a session."""
        self._sessions.record(duration, {PROTOCOL_VERSION: revision, **NETWORK.get(transport, {})})


def _find_error_type(request: Request[Any]) -> str | None:
    """The `error.type` of a request; None if it did not fail, or by the caller's mistake."""
    if request.outcome == "ok":
        return None
    if request.outcome == "cancelled":
        return "cancelled"
    code = request.code
    if code is None:
        return TOOL_ERROR
    return None if code in CALLER_ERRORS else str(code)
