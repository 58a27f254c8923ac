"""Helpers for switches that change input requests of a modern server and their retries."""

from __future__ import annotations

import json
from typing import Any

from tests.check.saboteur.messages import answer, result_of
from tests.check.saboteur.switch import Message

__all__ = [
    "DONE",
    "NAME_FORM",
    "answers_in",
    "asks",
    "declared_by",
    "is_call_of",
    "question",
    "says",
]

NAME_FORM: Message = {
    "method": "elicitation/create",
    "params": {
        "message": "What is your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


def says(text: str) -> Message:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": text}]}


DONE = says("done")


def asks(request: Message, **questions: Message) -> list[Message]:
    """An input_required result that replaces the server's."""
    return answer(request, {"resultType": "input_required", "inputRequests": questions})


def question(reply: Message, key: str) -> dict[str, Any]:
    """The params of one input request, or an empty dict if it does not exist."""
    asked = result_of(reply).get("inputRequests", {}).get(key, {})
    params: dict[str, Any] = asked.get("params", {})
    return params


def is_call_of(request: Message, name: str) -> bool:
    """Whether a request calls the tool."""
    params = request.get("params")
    return isinstance(params, dict) and params.get("name") == name


def declared_by(request: Message) -> dict[str, Any]:
    """The capabilities that the client declares in a request."""
    declared = request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert isinstance(declared, dict)
    return declared


def answers_in(request: Message) -> str:
    """The answers of a retry as JSON text; empty if there are none."""
    params = request.get("params")
    given = params.get("inputResponses") if isinstance(params, dict) else None
    return "" if given is None else json.dumps(given)
