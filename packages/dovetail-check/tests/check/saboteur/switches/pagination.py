from __future__ import annotations

from itertools import count

from tests.check.saboteur.messages import refuse, result_of
from tests.check.saboteur.switch import Message, on_reply, on_request

_turn = count()


def is_invalid(request: Message) -> bool:
    return "no-such-cursor" in str(request.get("params", {}).get("cursor"))


@on_reply("pagination.walk", to="tools/list")
def the_last_page_has_the_first_cursor(reply: Message, request: Message) -> None:
    cursor = request["params"].get("cursor")
    if cursor is not None:
        result_of(reply)["nextCursor"] = cursor


@on_reply("pagination.no-duplicates", to="tools/list")
def pages_share_a_tool(reply: Message, request: Message) -> None:
    shared = {"name": "shared", "inputSchema": {"type": "object"}}
    result_of(reply).get("tools", []).append(shared)


@on_reply("pagination.stable", to="tools/list")
def a_cursor_returns_different_pages(reply: Message, request: Message) -> None:
    if "cursor" in request["params"] and "tools" in result_of(reply):
        result_of(reply)["tools"][0]["name"] = f"tool{next(_turn)}"


@on_request("pagination.invalid-graceful")
def an_invalid_cursor_gets_an_internal_error(request: Message) -> list[Message] | None:
    return refuse(request, -32603) if is_invalid(request) else None


@on_request("pagination.invalid-32602")
def an_invalid_cursor_has_another_code(request: Message) -> list[Message] | None:
    return refuse(request, -32600) if is_invalid(request) else None
