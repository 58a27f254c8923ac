"""Middleware: ready-made ones, and the requests that they see."""

from dovetail.core.middleware import CallNext, Request
from dovetail.features.middleware import (
    CallTool,
    Complete,
    GetPrompt,
    ListPage,
    ListPrompts,
    ListResources,
    ListResourceTemplates,
    ListTools,
    Middleware,
    ReadResource,
)
from dovetail.middleware.results import ResultCache, ResultLimit
from dovetail.middleware.timing import Timed, Timing
from dovetail.middleware.upstream_calls import Breaker, CircuitBreaker, Retry, retry

__all__ = [
    "Breaker",
    "CallNext",
    "CallTool",
    "CircuitBreaker",
    "Complete",
    "GetPrompt",
    "ListPage",
    "ListPrompts",
    "ListResourceTemplates",
    "ListResources",
    "ListTools",
    "Middleware",
    "ReadResource",
    "Request",
    "ResultCache",
    "ResultLimit",
    "Retry",
    "Timed",
    "Timing",
    "retry",
]
