"""Replies of the client to questions of the server: valid, declined, failed and invalid ones.

The same replies serve requests from the server (legacy era) and entries of `inputRequests` (modern
era).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from dovetail.wire import codec
from dovetail_check.json_schemas import validation_errors
from dovetail_check.samples import NoSampleError, sample

__all__ = [
    "MAX_TURNS",
    "MISFIT",
    "REPLIES",
    "Reply",
    "accept",
    "answer_input",
    "answer_request",
    "is_tool_sampling",
]

# Takes method and params of a question; returns None to reply with an error.
Reply: TypeAlias = Callable[[Any, dict[str, Any]], dict[str, Any] | None]

# Part of every invalid reply, so that rules can find it in later traffic.
MISFIT = "dovetail-check-misfit"
# How often the sampled model requests a tool call before it stops.
MAX_TURNS = 20
_NO_METHOD = {"code": -32601, "message": "Method not found"}
_REJECTED = {"code": -1, "message": "User rejected the request"}
# A value of the wrong type for each field type.
_WRONG_VALUES: dict[str, Any] = {"number": MISFIT, "integer": MISFIT, "boolean": MISFIT}


def accept(method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return a valid reply to a question; None if the method is unknown."""
    made = _ACCEPTED.get(method) if isinstance(method, str) else None
    return None if made is None else made(params)


def answer_input(method: Any, params: Any, reply: Reply = accept) -> dict[str, Any] | None:
    """Return the result for a question; None if the client replies with an error."""
    return reply(method, params if isinstance(params, dict) else {})


def answer_request(message: dict[str, Any], reply: Reply = accept) -> bytes | None:
    """Return the response to a request from the server (legacy era)."""
    method = message.get("method")
    result = answer_input(method, message.get("params"), reply)
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
    if result is None:
        is_known = isinstance(method, str) and method in _ACCEPTED
        answer["error"] = _REJECTED if is_known else _NO_METHOD
    else:
        answer["result"] = result
    return codec.encode(answer)


# -- valid replies ---------------------------------------------------------------------------------


def _message(content: Any, reason: str = "endTurn") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content,
        "model": "dovetail-check",
        "stopReason": reason,
    }


def _fill_in(params: dict[str, Any]) -> dict[str, Any]:
    if params.get("mode") == "url":
        return {"action": "accept"}
    try:
        return {"action": "accept", "content": sample(params.get("requestedSchema", {}))}
    except NoSampleError:
        return {"action": "decline"}


_ACCEPTED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "ping": lambda _: {},
    # This folder does not exist.
    "roots/list": lambda _: {"roots": [{"uri": "file:///dovetail-check", "name": "check"}]},
    "sampling/createMessage": lambda _: _message({"type": "text", "text": "sample"}),
    "elicitation/create": _fill_in,
}


# -- other replies ---------------------------------------------------------------------------------


def _decline(method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    return {"action": "decline"} if method == "elicitation/create" else accept(method, params)


def _cancel(method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    return {"action": "cancel"} if method == "elicitation/create" else accept(method, params)


def _fail(method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    return accept(method, params) if method == "ping" else None


def _misfit(method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return an invalid reply if one can be made."""
    if method == "sampling/createMessage":
        return _message({"type": MISFIT, "text": MISFIT})
    content = _misfit_content(params) if method == "elicitation/create" else None
    return accept(method, params) if content is None else {"action": "accept", "content": content}


def _misfit_content(params: dict[str, Any]) -> dict[str, Any] | None:
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict):
        return None
    content = {name: _wrong_value_for(field) for name, field in fields.items()}
    return content if validation_errors(schema, content) else None


def _wrong_value_for(field: Any) -> Any:
    kind = field.get("type") if isinstance(field, dict) else None
    return _WRONG_VALUES.get(kind, {MISFIT: True}) if isinstance(kind, str) else {MISFIT: True}


def _use_tool(method: Any, params: dict[str, Any]) -> dict[str, Any] | None:
    """Request a tool call each time."""
    if not is_tool_sampling(method, params):
        return accept(method, params)
    tool = params["tools"][0]
    try:
        given = sample(tool.get("inputSchema"))
    except NoSampleError:
        given = {}
    use = {"type": "tool_use", "id": "dovetail-check-use", "name": tool.get("name"), "input": given}
    return _message([use], "toolUse")


def is_tool_sampling(method: Any, params: Any) -> bool:
    """Whether a question is a sampling request with tools."""
    tools = params.get("tools") if isinstance(params, dict) else None
    return (
        method == "sampling/createMessage"
        and isinstance(tools, list)
        and bool(tools)
        and isinstance(tools[0], dict)
    )


# Variant name -> reply.
REPLIES: dict[str, Reply] = {
    "accept": accept,
    "decline": _decline,
    "cancel": _cancel,
    "misfit": _misfit,
    "fail": _fail,
    "tool-use": _use_tool,
}
