"""Requests that may make a server send requests to the client, and a listener for those."""

from __future__ import annotations

from typing import Any, TypeAlias

from dovetail_check.calls import valid_calls
from dovetail_check.probe_client import ProbeClient
from dovetail_check.questions import ASKS
from dovetail_check.replies import MAX_TURNS, Reply, accept, answer_request

__all__ = ["MethodCall", "RequestListener", "triggering_requests"]

# Method and params.
MethodCall: TypeAlias = tuple[str, dict[str, Any]]

_MAX_TOOLS = 12
_MAX_OTHERS = 3


def triggering_requests(client: ProbeClient) -> list[MethodCall]:
    """Return calls of callable tools, and requests for some prompts and resources."""
    tools = [("tools/call", call) for call in valid_calls(client, _MAX_TOOLS)]
    prompts = [("prompts/get", got) for prompt in client.catalogue.prompts if (got := _get(prompt))]
    uris = [item.get("uri") for item in client.catalogue.resources]
    reads = [("resources/read", {"uri": uri}) for uri in uris if isinstance(uri, str)]
    return [*tools, *prompts[:_MAX_OTHERS], *reads[:_MAX_OTHERS]]


def _get(prompt: dict[str, Any]) -> dict[str, Any] | None:
    """The params of prompts/get, with a text for each required argument."""
    if not isinstance(prompt.get("name"), str):
        return None
    arguments = prompt.get("arguments")
    names = [
        argument["name"]
        for argument in (arguments if isinstance(arguments, list) else ())
        if isinstance(argument, dict)
        and argument.get("required") is True
        and isinstance(argument.get("name"), str)
    ]
    return {"name": prompt["name"], "arguments": dict.fromkeys(names, "sample")}


class RequestListener:
    """Replies to requests of a legacy server and records them in `questions`.

    with RequestListener(client, reply) as listener: ...
    """

    def __init__(self, client: ProbeClient, reply: Reply) -> None:
        self._client = client
        self._reply = reply
        self._before = client.reply_to
        self.questions: list[dict[str, Any]] = []

    def __enter__(self) -> RequestListener:
        self._client.reply_to = self._answer
        return self

    def __exit__(self, *_: object) -> None:
        self._client.reply_to = self._before

    def _answer(self, message: dict[str, Any]) -> bytes | None:
        if message.get("method") in tuple(ASKS):
            self.questions.append(message)
        is_enough = len(self.questions) > MAX_TURNS
        return answer_request(message, accept if is_enough else self._reply)
