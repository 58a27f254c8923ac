"""Authentication, permissions, rate limits, and middleware such as the audit log."""

from dovetail.core.principal import Principal
from dovetail.core.redaction import Redaction
from dovetail.guard.api_keys import ApiKeys
from dovetail.guard.audit import AuditLog
from dovetail.guard.breaker import Breaker
from dovetail.guard.credentials import Authenticator, Credentials, Rejected
from dovetail.guard.guard import Guard
from dovetail.guard.introspection import Introspection
from dovetail.guard.json_formatter import JsonFormatter
from dovetail.guard.key_file import KeyFile
from dovetail.guard.limits import Limits
from dovetail.guard.metrics import Metrics
from dovetail.guard.oauth import OAuth
from dovetail.guard.opentelemetry import OpenTelemetryMetrics, Traces
from dovetail.guard.rates import Rate
from dovetail.guard.retries import retry

__all__ = [
    "ApiKeys",
    "AuditLog",
    "Authenticator",
    "Breaker",
    "Credentials",
    "Guard",
    "Introspection",
    "JsonFormatter",
    "KeyFile",
    "Limits",
    "Metrics",
    "OAuth",
    "OpenTelemetryMetrics",
    "Principal",
    "Rate",
    "Redaction",
    "Rejected",
    "Traces",
    "retry",
]
