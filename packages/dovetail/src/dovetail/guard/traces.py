"""OpenTelemetry spans, with the trace context from `_meta` of the request."""

from __future__ import annotations

from typing import Any

from dovetail.core.hooks import Hook, HookedCall
from dovetail.errors import UsageError
from dovetail.guard.redaction import Redaction
from dovetail.spec.keys import TRACE_KEYS

__all__ = ["Traces"]


class Traces(Hook):
    """Middleware that creates a span per call, with the configured tracer provider.

    Spans have no arguments and no results; secrets in names and URIs are redacted.
    """

    def __init__(self, provider: Any = None, *, redaction: Redaction | None = None) -> None:
        try:
            from opentelemetry import propagate, trace  # noqa: PLC0415 - optional
        except ImportError:
            raise UsageError("Traces needs OpenTelemetry: pip install opentelemetry-api") from None
        self._clean = (redaction or Redaction()).clean_name
        self._extract = propagate.extract
        self._tracer = trace.get_tracer("dovetail", tracer_provider=provider)
        self._server = trace.SpanKind.SERVER
        self._failed = trace.StatusCode.ERROR

    def before(self, call: HookedCall) -> None:
        """Start a span as a child of the caller's span."""
        # base.meta.trace-context (2026-07-28 basic/index): W3C trace context
        carrier = {
            name: call.meta[name] for name in TRACE_KEYS if isinstance(call.meta.get(name), str)
        }
        # Callers choose URIs, and may call what does not exist by any name.
        method = self._clean(call.method)
        name = None if call.name is None else self._clean(call.name)
        known = {"mcp.method.name": method, "mcp.protocol.version": call.revision}
        call.notes[self] = self._tracer.start_span(
            method if name is None or method != "tools/call" else f"tools/call {name}",
            context=self._extract(carrier) if carrier else None,
            kind=self._server,
            attributes=known if name is None else {**known, "mcp.name": name},
        )

    def after(self, call: HookedCall) -> None:
        """End the span."""
        span = call.notes.pop(self)
        span.set_attribute("mcp.outcome", str(call.outcome))
        if call.code is not None:
            span.set_attribute("rpc.jsonrpc.error_code", call.code)
        if call.outcome != "ok":
            span.set_status(self._failed)
        span.end()
