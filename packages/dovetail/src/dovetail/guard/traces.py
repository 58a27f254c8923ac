"""OpenTelemetry spans of calls, by the semantic conventions for MCP.

Left out on purpose: `mcp.session.id`, because a legacy session id is a credential;
`client.address`, because it is personal data and behind a balancer it is the balancer's; the
description of a status, because error messages may quote arguments.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.hooks import Hook, HookedCall
from dovetail.core.redaction import Redaction
from dovetail.core.semantic_conventions import (
    ERROR_TYPE,
    METHOD,
    NETWORK,
    OTHER,
    PROTOCOL_VERSION,
    REQUEST_ID,
    STATUS_CODE,
    describe_target,
    name_span,
)
from dovetail.core.trace_context import current_span_ids
from dovetail.errors import UsageError
from dovetail.guard.call_errors import find_code, find_error_type

__all__ = ["Traces"]


class Traces(Hook):
    """Middleware that creates a span per call, with the configured tracer provider.

    The span continues the trace in `_meta` of the request, and is the current span while the call
    runs. Spans have no arguments and no results; secrets in names and URIs are redacted.
    """

    def __init__(self, provider: Any = None, *, redaction: Redaction | None = None) -> None:
        try:
            from opentelemetry import context, propagate, trace  # noqa: PLC0415 - optional
        except ImportError:
            raise UsageError("Traces needs OpenTelemetry: pip install opentelemetry-api") from None
        self._clean = (redaction or Redaction()).clean_name
        self._trace = trace
        self._context = context
        self._extract = propagate.extract
        self._fields = propagate.get_global_textmap().fields
        self._tracer = trace.get_tracer("dovetail", tracer_provider=provider)

    def before(self, call: HookedCall) -> None:
        """Start a span as a child of the caller's span."""
        # Callers choose URIs and ids, and may call what does not exist by any name.
        method = call.method if call.has_known_method else self._clean(call.method)
        target = None if call.name is None else self._clean(call.name)
        parent, links = self._find_parent(call)
        span = self._tracer.start_span(
            # The names of spans are few.
            name_span(method, target) if call.has_known_method else OTHER,
            context=parent,
            kind=self._trace.SpanKind.SERVER,
            attributes={
                METHOD: method,
                PROTOCOL_VERSION: call.revision,
                REQUEST_ID: self._clean(str(call.request_id)),
                **NETWORK.get(call.transport, {}),
                **describe_target(method, target),
            },
            links=links,
        )
        token = self._context.attach(self._trace.set_span_in_context(span, parent))
        call.span_ids = current_span_ids()
        call.notes[self] = span, token

    def _find_parent(self, call: HookedCall) -> tuple[Any, list[Any] | None]:
        """The context in `_meta`, and a link to the span of the transport, if there is one."""
        # base.meta.trace-context (2026-07-28 basic/index): W3C trace context
        meta = call.meta
        carrier = {name: meta[name] for name in self._fields if isinstance(meta.get(name), str)}
        if not carrier:
            return None, None
        parent = self._extract(carrier)
        current = self._trace.get_current_span().get_span_context()
        found = self._trace.get_current_span(parent).get_span_context()
        if not current.is_valid or current.span_id == found.span_id:
            return parent, None
        return parent, [self._trace.Link(current)]

    def after(self, call: HookedCall) -> None:
        """End the span."""
        span, token = call.notes.pop(self)
        code, error_type = find_code(call), find_error_type(call)
        if code is not None:
            span.set_attribute(STATUS_CODE, str(code))
        if error_type is not None:
            span.set_attribute(ERROR_TYPE, error_type)
            span.set_status(self._trace.StatusCode.ERROR)
        if call.has_known_method and not call.has_known_target:
            span.update_name(call.method)
        span.end()
        self._context.detach(token)
