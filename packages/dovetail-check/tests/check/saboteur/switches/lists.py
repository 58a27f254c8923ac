from __future__ import annotations

from typing import Any

from tests.check.saboteur.messages import refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request, tuned


@on_reply("tools.capability", to="server/discover")
def tools_are_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).pop("tools", None)


@on_reply("resources.capability", to="server/discover")
def resources_are_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).pop("resources", None)


@on_reply("prompts.capability", "prompts.respect-capabilities", to="server/discover")
def prompts_are_not_declared(reply: Message, request: Message) -> None:
    result_of(reply).get("capabilities", {}).pop("prompts", None)


@on_request("tools.list-answers")
def tools_are_not_listed(request: Message) -> list[Message] | None:
    return refuse(request, -32601) if request.get("method") == "tools/list" else None


@on_request("resources.list-answers")
def resources_are_not_listed(request: Message) -> list[Message] | None:
    return refuse(request, -32601) if request.get("method") == "resources/list" else None


@on_request("prompts.list-answers")
def prompts_are_not_listed(request: Message) -> list[Message] | None:
    return refuse(request, -32601) if request.get("method") == "prompts/list" else None


# Over stdio each connection is a process. Only the first one gets server/discover.
_is_first: list[bool] = []
_PER_CONNECTION = tuple(
    f"{kind}.list-not-per-connection" for kind in ("tools", "resources", "prompts")
)
tuned(*_PER_CONNECTION, "tools.list-order", transport="stdio")


@on_request(*_PER_CONNECTION, "tools.list-order")
def remember_the_first_request(request: Message) -> None:
    _is_first.append(request.get("method") == "server/discover")


def change_list(reply: Message, request: Message, kind: str) -> list[Any]:
    """The first page of a list on another connection, to change in place; otherwise []."""
    is_beginning = "cursor" not in request.get("params", {})
    return [] if _is_first[0] or not is_beginning else result_of(reply)[kind]


@on_reply("tools.list-not-per-connection", to="tools/list")
def another_connection_has_fewer_tools(reply: Message, request: Message) -> None:
    del change_list(reply, request, "tools")[:1]


@on_reply("resources.list-not-per-connection", to="resources/list")
def another_connection_has_fewer_resources(reply: Message, request: Message) -> None:
    del change_list(reply, request, "resources")[:1]


@on_reply("prompts.list-not-per-connection", to="prompts/list")
def another_connection_has_fewer_prompts(reply: Message, request: Message) -> None:
    del change_list(reply, request, "prompts")[:1]


@on_reply("tools.list-order", to="tools/list")
def tools_are_shuffled(reply: Message, request: Message) -> None:
    change_list(reply, request, "tools").reverse()
