"""Requests that may lead a server to ask something, and an ear for what it asks."""

from __future__ import annotations

from typing import Any, TypeAlias

from dovetail_check.calls import fitting_calls
from dovetail_check.probe_client import ProbeClient
from dovetail_check.questions import ASKS
from dovetail_check.replies import MOST_TURNS, Reply, accept, answer_request

__all__ = ["RequestListener", "Wanted", "may_ask"]

# Method and params.
Wanted: TypeAlias = tuple[str, dict[str, Any]]

_MOST_TOOLS = 12
_MOST_OTHERS = 3


def may_ask(client: ProbeClient) -> list[Wanted]:
    """Calls of tools that may be called, and some prompts and resources."""
    tools = [("tools/call", call) for call in fitting_calls(client, _MOST_TOOLS)]
    prompts = [("prompts/get", got) for prompt in client.catalogue.prompts if (got := _get(prompt))]
    uris = [item.get("uri") for item in client.catalogue.resources]
    reads = [("resources/read", {"uri": uri}) for uri in uris if isinstance(uri, str)]
    return [*tools, *prompts[:_MOST_OTHERS], *reads[:_MOST_OTHERS]]


def _get(prompt: dict[str, Any]) -> dict[str, Any] | None:
    """How to get a prompt, with a text for each argument that it requires."""
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
    """Answers what a legacy server asks, and remembers it: `with Ear(talk, reply) as ear`."""

    def __init__(self, client: ProbeClient, reply: Reply) -> None:
        self._talk = client
        self._reply = reply
        self._before = client.reply_to
        self.questions: list[dict[str, Any]] = []

    def __enter__(self) -> RequestListener:
        self._talk.reply_to = self._answer
        return self

    def __exit__(self, *_: object) -> None:
        self._talk.reply_to = self._before

    def _answer(self, message: dict[str, Any]) -> bytes | None:
        if message.get("method") in tuple(ASKS):
            self.questions.append(message)
        is_enough = len(self.questions) > MOST_TURNS
        return answer_request(message, accept if is_enough else self._reply)
