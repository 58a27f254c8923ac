"""Headers that mirror the body of a modern request."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from msgspec import Raw

from dovetail.client.http_headers import ToolHeaders, encode_value, mirror_request
from dovetail.spec.keys import PROTOCOL_VERSION
from dovetail.wire import codec


def page(*tools: dict[str, Any]) -> Raw:
    return Raw(codec.encode({"tools": tools, "nextCursor": "n"}))


def tool(name: str, properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("us-west1", "us-west1"),
        ("two words\tand a tab", "two words\tand a tab"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?open", "=?base64?open"),
        ("\x7f", "=?base64?fw==?="),
    ],
)
def test_values_that_are_not_plain_ascii_are_encoded(text: str, header: str) -> None:
    assert encode_value(text) == header


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "add"}, "add"),
        ("prompts/get", {"name": "grün"}, "=?base64?Z3LDvG4=?="),
        ("resources/read", {"uri": "memo://today", "name": "no"}, "memo://today"),
        ("tools/list", {"name": "no"}, None),
        ("tools/call", {}, None),
        ("tools/call", {"name": 7}, None),
        ("ours/own", {"name": "no"}, None),
    ],
)
def test_the_method_and_the_name_are_mirrored(method: str, params: Any, name: str | None) -> None:
    meta = {PROTOCOL_VERSION: "2026-07-28"}
    mirrored = mirror_request(method, {**params, "_meta": meta}, ToolHeaders())
    headers = dict(mirrored or [])
    assert headers.pop("MCP-Protocol-Version") == "2026-07-28"
    assert headers.pop("Mcp-Method") == method
    assert headers == ({} if name is None else {"Mcp-Name": name})


def test_the_version_is_read_from_the_metadata() -> None:
    tools = ToolHeaders()
    modern = mirror_request("x", {"_meta": {PROTOCOL_VERSION: "2026-07-28"}}, tools)
    assert modern == [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "x")]
    assert mirror_request("x", {"_meta": {PROTOCOL_VERSION: 7}}, tools) is None
    assert mirror_request("x", {"_meta": 7}, tools) is None
    assert mirror_request("x", {}, tools) is None
    assert mirror_request("x", None, tools) is None


def test_arguments_are_mirrored_according_to_the_schema() -> None:
    tools = ToolHeaders()
    inner = {"type": "object", "properties": {"at": {"type": "string", "x-mcp-header": "At"}}}
    properties = {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "place": inner,
        "plain": {"type": "string"},
    }
    assert tools.learn(page(tool("query", properties), tool("other", {}))) is None

    def mirrored(arguments: Any, name: str = "query") -> dict[str, str]:
        return dict(tools.mirror(name, Raw(codec.encode(arguments))))

    assert mirrored({"region": "eu", "size": -7, "dry": True, "plain": "x"}) == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Size": "-7",
        "Mcp-Param-Dry": "true",
    }
    assert mirrored({"size": 42.0, "dry": False, "place": {"at": "é"}}) == {
        "Mcp-Param-Size": "42",
        "Mcp-Param-Dry": "false",
        "Mcp-Param-At": "=?base64?w6k=?=",
    }
    assert mirrored({"region": None, "size": 1.5, "place": [], "dry": {}}) == {}
    assert mirrored([]) == {}
    assert mirrored({"region": "eu"}, "other") == {}
    tools.learn(page(tool("query", {"region": {"type": "string"}})))
    assert mirrored({"region": "eu"}) == {}, "the newest list counts"


@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": "string", "x-mcp-header": "A B"}},
        {"a": {"type": "string", "x-mcp-header": 7}},
        {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"type": "string", "x-mcp-header": "a"},
        },
        {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}},
        {"a": {"type": "object", "properties": ["x-mcp-header"]}},
        ["x-mcp-header"],
    ],
)
def test_a_tool_with_an_invalid_header_is_ignored(
    properties: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "dovetail"):
        left = ToolHeaders().learn(page(tool("good", {}), tool("bad", properties)))
    assert left is not None
    assert codec.decode_json(left) == {"tools": [tool("good", {})], "nextCursor": "n"}
    assert "ignored the tool 'bad'" in caplog.text


def test_an_invalid_tool_list_is_left_to_the_caller() -> None:
    tools = ToolHeaders()
    assert tools.learn(Raw(b'{"tools": "x-mcp-header"}')) is None
    assert tools.learn(Raw(b'{"tools": [{"name": 1, "x-mcp-header": 2}]}')) is None
