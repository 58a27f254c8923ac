"""How a call failed, in the terms of the OpenTelemetry semantic conventions for MCP."""

from __future__ import annotations

from dovetail.core.hooks import HookedCall
from dovetail.core.semantic_conventions import CALLER_ERRORS, TOOL_ERROR
from dovetail.errors import RpcError

__all__ = ["find_code", "find_error_type"]


def find_code(call: HookedCall) -> int | None:
    """The code of the JSON-RPC error, None if the call has another outcome."""
    if call.code is None and isinstance(call.error, RpcError):
        # A mounted server: the outer one answers.
        return call.error.code
    return call.code


def find_error_type(call: HookedCall) -> str | None:
    """The `error.type` of a finished call; None if it did not fail, or by the caller's mistake."""
    if call.outcome == "ok":
        return None
    if call.outcome == "cancelled":
        return "cancelled"
    code = find_code(call)
    if code is None:
        return TOOL_ERROR
    return None if code in CALLER_ERRORS else str(code)
