from __future__ import annotations

from typing import Any

from tests.check.saboteur.messages import first
from tests.check.saboteur.switch import Message, on_reply


def mark(reply: Message, *marked: dict[str, Any]) -> None:
    """Set these properties on the first tool."""
    properties = {f"sabotage{n}": schema for n, schema in enumerate(marked)}
    first(reply, "tools").get("inputSchema", {})["properties"] = properties


@on_reply("tools.xheader.nonempty", to="tools/list")
def a_header_has_no_name(reply: Message, request: Message) -> None:
    mark(reply, {"type": "string", "x-mcp-header": ""})


@on_reply("tools.xheader.token", to="tools/list")
def a_header_has_a_space(reply: Message, request: Message) -> None:
    mark(reply, {"type": "string", "x-mcp-header": "My Region"})


@on_reply("tools.xheader.no-control", to="tools/list")
def a_header_has_a_line_break(reply: Message, request: Message) -> None:
    mark(reply, {"type": "string", "x-mcp-header": "Region\r\nX-Evil: 1"})


@on_reply("tools.xheader.unique", to="tools/list")
def two_headers_share_a_name(reply: Message, request: Message) -> None:
    mark(
        reply,
        {"type": "string", "x-mcp-header": "Region"},
        {"type": "string", "x-mcp-header": "REGION"},
    )


@on_reply("tools.xheader.primitive", to="tools/list")
def a_number_is_mirrored(reply: Message, request: Message) -> None:
    mark(reply, {"type": "number", "x-mcp-header": "Price"})


@on_reply("tools.xheader.reachable", to="tools/list")
def an_array_item_is_mirrored(reply: Message, request: Message) -> None:
    mark(reply, {"type": "array", "items": {"type": "string", "x-mcp-header": "Tag"}})


@on_reply("tools.xheader.not-sensitive", to="tools/list")
def a_password_is_mirrored(reply: Message, request: Message) -> None:
    mark(reply, {"type": "string", "x-mcp-header": "User-Password"})
