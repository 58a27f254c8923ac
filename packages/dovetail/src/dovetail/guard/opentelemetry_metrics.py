"""Durations of calls and sessions as OpenTelemetry metrics, by the semantic conventions for MCP."""

from __future__ import annotations

from typing import Any

from dovetail.core.hooks import Hook, HookedCall
from dovetail.core.semantic_conventions import (
    BUCKETS,
    ERROR_TYPE,
    METHOD,
    NETWORK,
    OTHER,
    PROTOCOL_VERSION,
    RESOURCE_URI,
    STATUS_CODE,
    describe_target,
)
from dovetail.errors import UsageError
from dovetail.guard.call_errors import find_code, find_error_type

__all__ = ["OpenTelemetryMetrics"]


class OpenTelemetryMetrics(Hook):
    """Middleware that records durations, with the configured meter provider.

    Put it after `Traces`, so that the recorded values can refer to their span.
    """

    def __init__(self, provider: Any = None) -> None:
        try:
            from opentelemetry import metrics  # noqa: PLC0415 - optional
        except ImportError:
            raise UsageError(
                "OpenTelemetryMetrics needs OpenTelemetry: pip install opentelemetry-api"
            ) from None
        meter = metrics.get_meter("dovetail", meter_provider=provider)
        self._calls, self._sessions = (
            meter.create_histogram(
                name, "s", description, explicit_bucket_boundaries_advisory=BUCKETS
            )
            for name, description in (
                ("mcp.server.operation.duration", "The duration of an MCP request."),
                ("mcp.server.session.duration", "The duration of an MCP session."),
            )
        )

    def after(self, call: HookedCall) -> None:
        """Record the duration of a call."""
        # Callers choose unknown names and URIs, and each combination of attributes takes memory.
        target = call.name if call.has_known_target else None
        attributes: dict[str, str] = {
            METHOD: call.method if call.has_known_method else OTHER,
            PROTOCOL_VERSION: call.revision,
            **NETWORK.get(call.transport, {}),
            **describe_target(call.method, target),
        }
        attributes.pop(RESOURCE_URI, None)
        code, error_type = find_code(call), find_error_type(call)
        if code is not None:
            attributes[STATUS_CODE] = str(code)
        if error_type is not None:
            attributes[ERROR_TYPE] = error_type
        self._calls.record(call.duration, attributes)

    def session_ended(self, revision: str, transport: str, duration: float) -> None:
        """Record the duration of a session."""
        self._sessions.record(duration, {PROTOCOL_VERSION: revision, **NETWORK.get(transport, {})})
