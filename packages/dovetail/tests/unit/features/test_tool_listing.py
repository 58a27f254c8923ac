"""Listed input schemas: lean, and never wider than what the tool accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from dovetail import Options, Param, Server
from dovetail.errors import UsageError
from tests.unit.talk import ask


def listed(server: Server) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = ask(server, "tools/list")["tools"]
    return tools


def properties(function: Any) -> dict[str, Any]:
    server = Server("s")
    server.tools.add(function)
    [tool] = listed(server)
    found: dict[str, Any] = tool["inputSchema"]["properties"]
    return found


@dataclass
class Place:
    city: str
    country: str | None = None


def test_null_is_left_out_where_omitting_the_argument_means_the_same() -> None:
    def find(
        a: int | None = None,
        b: int | str | None = None,
        c: Literal["x", "y", None] = None,
        d: Place | None = None,
        e: Annotated[str | None, "A text."] = None,
        f: None = None,
    ) -> str:
        return f"{a} {b} {c} {d} {e} {f}"

    assert properties(find) == {
        "a": {"type": "integer"},
        "b": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "c": {"enum": ["x", "y"]},
        "d": {"$ref": "#/$defs/Place"},
        "e": {"type": "string", "description": "A text."},
        "f": {"type": "null"},
    }


def test_null_stays_where_it_has_a_meaning() -> None:
    def find(a: int | None, b: int | None = 3) -> str:
        return f"{a} {b}"

    assert properties(find) == {
        "a": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "b": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 3},
    }


def test_optional_fields_of_classes_are_lean_too() -> None:
    server = Server("s")

    @server.tool
    def find(place: Place) -> str:
        return place.city

    [tool] = listed(server)
    place = tool["inputSchema"]["$defs"]["Place"]
    assert place["properties"] == {"city": {"type": "string"}, "country": {"type": "string"}}


def test_null_is_still_accepted() -> None:
    server = Server("s")

    @server.tool
    def find(a: int | None = None) -> str:
        return str(a)

    result = ask(server, "tools/call", {"name": "find", "arguments": {"a": None}})
    assert result["content"] == [{"type": "text", "text": "None"}]


def test_a_schema_written_by_hand_is_listed_unchanged() -> None:
    server = Server("s")
    schema = {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
    }

    @server.tool(input_schema=schema)
    def find(a: str | None = None) -> str:
        return str(a)

    assert listed(server)[0]["inputSchema"] == schema


def test_an_unlisted_parameter_can_be_passed() -> None:
    server = Server("s")

    @server.tool
    def find(a: int, key: Annotated[Place | None, Param(hidden=True)] = None) -> str:
        return str(key)

    [tool] = listed(server)
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
    }
    arguments = {"a": 1, "key": {"city": "Oslo"}}
    result = ask(server, "tools/call", {"name": "find", "arguments": arguments})
    assert result["content"][0]["text"] == "Place(city='Oslo', country=None)"
    wrong = ask(server, "tools/call", {"name": "find", "arguments": {"a": 1, "keys": 2}})
    assert wrong["isError"] and "keys" in wrong["content"][0]["text"]


def test_a_required_parameter_must_be_listed() -> None:
    def find(key: Annotated[str, Param(hidden=True)]) -> str:
        return key

    with pytest.raises(UsageError, match="key is required, so it cannot be hidden"):
        Server("s").tools.add(find)


def test_an_unlisted_tool_can_be_called() -> None:
    server = Server("s")

    @server.tool(hidden=True)
    def find_old() -> str:
        return "found"

    @server.tool
    def search() -> str:
        return "found"

    assert [tool["name"] for tool in listed(server)] == ["search"]
    assert [tool.name for tool in server.tools.list()] == ["search"]
    assert ask(server, "tools/call", {"name": "find_old"})["content"][0]["text"] == "found"


def test_output_schemas_are_left_out_of_the_list_but_enforced() -> None:
    server = Server("s", options=Options(list_output_schemas=False))

    @server.tool
    def find() -> Place:
        return Place("Oslo")

    @server.tool
    def broken() -> Place:
        return "Oslo"  # type: ignore[return-value]

    assert all("outputSchema" not in tool for tool in listed(server))
    result = ask(server, "tools/call", {"name": "find"})
    assert result["structuredContent"] == {"city": "Oslo", "country": None}
    assert ask(server, "tools/call", {"name": "broken"})["isError"]
