from __future__ import annotations

from typing import Any

from tests.check.saboteur.asking import answers_in, asks, declared_by, is_call_of
from tests.check.saboteur.spoiling import result_of
from tests.check.saboteur.switch import Message, on_reply

SAID = {"role": "user", "content": {"type": "text", "text": "What is a dovetail?"}}
LOOKUP = {"name": "lookup", "inputSchema": {"type": "object"}}


def sampling(**more: Any) -> Message:
    params = {"messages": [SAID], "maxTokens": 10, **more}
    return {"method": "sampling/createMessage", "params": params}


@on_reply("sampling.capability", "sampling.deprecated", to="tools/call")
def who_declared_nothing_is_asked_for_a_model(
    reply: Message, request: Message
) -> list[Message] | None:
    return None if declared_by(request) else asks(request, model=sampling())


@on_reply("sampling.tools-capability", to="tools/call")
def any_model_is_given_tools(reply: Message, request: Message) -> list[Message] | None:
    if declared_by(request) == {"sampling": {}}:
        return asks(request, model=sampling(tools=[LOOKUP]))
    return None


@on_reply("sampling.include-context", to="tools/call")
def everything_is_context(reply: Message, request: Message) -> list[Message] | None:
    if "sampling" in declared_by(request) and is_call_of(request, "consult"):
        return asks(request, model=sampling(includeContext="allServers"))
    return None


@on_reply("sampling.message-shape", to="tools/call")
def the_system_speaks(reply: Message, request: Message) -> None:
    for message in conversation(reply):
        message["role"] = "system"


def conversation(reply: Message) -> list[dict[str, Any]]:
    """The messages of every question for the model."""
    asked = result_of(reply).get("inputRequests", {}).values()
    return [message for one in asked for message in one.get("params", {}).get("messages", [])]


def results(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    listed = content if isinstance(content, list) else [content]
    return [block for block in listed if block["type"] == "tool_result"]


@on_reply("sampling.tool-result-only", to="tools/call")
def results_are_explained(reply: Message, request: Message) -> None:
    for message in conversation(reply):
        if results(message):
            message["content"] = [*results(message), {"type": "text", "text": "as you see"}]


@on_reply("sampling.tool-balance", to="tools/call")
def results_are_of_something_else(reply: Message, request: Message) -> None:
    for message in conversation(reply):
        for block in results(message):
            block["toolUseId"] = "something-else"


@on_reply("sampling.iteration-limit", to="tools/call")
def the_model_may_go_on_for_ever(reply: Message, request: Message) -> list[Message] | None:
    return (
        asks(request, model=sampling(tools=[LOOKUP])) if "tool_use" in answers_in(request) else None
    )
