"""What switches do to the questions of a modern server, and to the retries that answer them."""

from __future__ import annotations

import json
from typing import Any

from tests.check.saboteur.spoiling import answer, result_of
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
    """A result that asks for something, in the server's place."""
    return answer(request, {"resultType": "input_required", "inputRequests": questions})


def question(reply: Message, key: str) -> dict[str, Any]:
    """The params of one question, or something to write to where there is none."""
    asked = result_of(reply).get("inputRequests", {}).get(key, {})
    params: dict[str, Any] = asked.get("params", {})
    return params


def is_call_of(request: Message, name: str) -> bool:
    """Whether a tool is called."""
    params = request.get("params")
    return isinstance(params, dict) and params.get("name") == name


def declared_by(request: Message) -> dict[str, Any]:
    """What the client declares with a request."""
    declared = request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    assert isinstance(declared, dict)
    return declared


def answers_in(request: Message) -> str:
    """The text of the answers that a retry carries; empty where it carries none."""
    params = request.get("params")
    given = params.get("inputResponses") if isinstance(params, dict) else None
    return "" if given is None else json.dumps(given)
