"""What operators watch: the audit log, metrics, traces and logs as JSON."""

from dovetail.core.redaction import Redaction
from dovetail.observability.logs import AuditLog, JsonFormatter
from dovetail.observability.metrics import Metrics
from dovetail.observability.opentelemetry import OpenTelemetryMetrics, Traces

__all__ = [
    "AuditLog",
    "JsonFormatter",
    "Metrics",
    "OpenTelemetryMetrics",
    "Redaction",
    "Traces",
]
