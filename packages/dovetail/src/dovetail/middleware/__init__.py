"""Middleware: the requests that it sees, for `isinstance` and for annotations."""

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

__all__ = [
    "CallNext",
    "CallTool",
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
]
