"""The value of a tool's result, which is the same in both eras."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail import Client, Server
from dovetail.client import CallResult
from dovetail.spec.models import TextContent
from tests.patience import CAP
from tests.peers.scripted import run

server = Server("values")
VALUES: dict[str, Any] = {
    "number": 2,
    "text": "2",
    "sentence": "a b",
    "truth": True,
    "nothing": None,
    "items": [1, "b"],
    "empty": [],
    "object": {"result": 2},
    "deep": {"result": {"result": 2}},
}


@server.tool
def number() -> int:
    return 2


@server.tool
def text() -> str:
    return "2"


@server.tool
def items() -> list[int]:
    return [1, 2]


@server.tool
def wrapped() -> dict[str, int]:
    return {"result": 2}


@pytest.mark.parametrize("mode", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("tool", "value"),
    [("number", 2), ("text", "2"), ("items", [1, 2]), ("wrapped", {"result": 2})],
)
def test_the_data_of_a_call_is_what_the_tool_returned(mode: str, tool: str, value: Any) -> None:
    async def call() -> Any:
        async with Client(server, mode=mode, timeout=CAP) as client:
            return (await client.call(tool)).data

    assert run(call()) == value


def _result(structured: Any, *texts: str) -> CallResult:
    content = [TextContent(text=text) for text in texts]
    return CallResult("t", content, structured, has_structured=True)


@pytest.mark.parametrize("name", VALUES)
def test_a_wrapped_value_is_taken_out_and_an_object_stays(name: str) -> None:
    value = VALUES[name]
    said = value if isinstance(value, str) else json.dumps(value)
    assert _result({"result": value}, said).data == value
    if isinstance(value, dict):
        assert _result(value, said).data == value


def test_one_block_per_item_is_understood() -> None:
    assert _result({"result": [1, "b"]}, "1", "b").data == [1, "b"]
    assert _result({"result": []}).data == []


def test_an_object_whose_text_says_something_else_stays() -> None:
    assert _result({"result": 2}, "two").data == {"result": 2}
    assert _result({"result": 2}).data == {"result": 2}
    assert _result({"result": 2, "more": 1}, "2").data == {"result": 2, "more": 1}
