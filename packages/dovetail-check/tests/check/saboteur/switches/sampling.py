from __future__ import annotations

from typing import Any

from tests.check.saboteur.asking import answers_in, asks, declared_by, is_call_of
from tests.check.saboteur.messages import result_of
from tests.check.saboteur.switch import Message, on_reply

SAID = {"role": "user", "content": {"type": "text", "text": "What is a dovetail?"}}
LOOKUP = {"name": "lookup", "inputSchema": {"type": "object"}}


def sampling(**more: Any) -> Message:
    params = {"messages": [SAID], "maxTokens": 10, **more}
    return {"method": "sampling/createMessage", "params": params}


@on_reply("sampling.capability", "sampling.deprecated", to="tools/call")
def undeclared_sampling_is_requested(reply: Message, request: Message) -> list[Message] | None:
    return None if declared_by(request) else asks(request, model=sampling())


@on_reply("sampling.tools-capability", to="tools/call")
def undeclared_tools_are_sent(reply: Message, request: Message) -> list[Message] | None:
    if declared_by(request) == {"sampling": {}}:
        return asks(request, model=sampling(tools=[LOOKUP]))
    return None


@on_reply("sampling.include-context", to="tools/call")
def all_context_is_requested(reply: Message, request: Message) -> list[Message] | None:
    if "sampling" in declared_by(request) and is_call_of(request, "consult"):
        return asks(request, model=sampling(includeContext="allServers"))
    return None


@on_reply("sampling.message-shape", to="tools/call")
def a_message_has_role_system(reply: Message, request: Message) -> None:
    for message in conversation(reply):
        message["role"] = "system"


def conversation(reply: Message) -> list[dict[str, Any]]:
    """The messages of every sampling request."""
    asked = result_of(reply).get("inputRequests", {}).values()
    return [message for one in asked for message in one.get("params", {}).get("messages", [])]


def results(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    listed = content if isinstance(content, list) else [content]
    return [block for block in listed if block["type"] == "tool_result"]


@on_reply("sampling.tool-result-only", to="tools/call")
def tool_results_with_text(reply: Message, request: Message) -> None:
    for message in conversation(reply):
        if results(message):
            message["content"] = [*results(message), {"type": "text", "text": "as you see"}]


@on_reply("sampling.tool-balance", to="tools/call")
def tool_results_for_another_use(reply: Message, request: Message) -> None:
    for message in conversation(reply):
        for block in results(message):
            block["toolUseId"] = "something-else"


@on_reply("sampling.iteration-limit", to="tools/call")
def tool_loop_without_limit(reply: Message, request: Message) -> list[Message] | None:
    return (
        asks(request, model=sampling(tools=[LOOKUP])) if "tool_use" in answers_in(request) else None
    )
