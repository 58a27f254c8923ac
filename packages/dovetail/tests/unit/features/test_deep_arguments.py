"""Arguments that are nested deeper than any decoder reads are invalid, not an internal error."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Annotated, Any

import pydantic
import pytest

from dovetail import Options, Server, ToolResult
from dovetail.middleware import CallNext, CallTool

DEPTHS = (150, 240, 255, 300, 900, 970, 990, 1100, 50_000)


@dataclass
class Node:
    child: Node | None = None


class Model(pydantic.BaseModel):
    value: Any = None


def make_server(**options: Any) -> Server:
    server = Server("s", options=Options(**options))

    @server.tool
    def number(value: int) -> str:
        return "taken"

    @server.tool
    def anything(value: Any) -> str:
        return "taken"

    @server.tool
    def returned(value: Any) -> list[Any]:
        return [value]

    @server.tool
    def union(value: list[int] | Node) -> str:
        return "taken"

    @server.tool
    def recursive(value: Node) -> str:
        return "taken"

    @server.tool
    def model(value: Model) -> str:
        return "taken"

    @server.tool
    def constrained(value: Annotated[list[Any], pydantic.Field(max_length=3)]) -> str:
        return "taken"

    add_special_tools(server)
    return server


def add_special_tools(server: Server) -> None:
    @server.tool(input_schema={"type": "object", "properties": {"value": {}}})
    def by_hand(value: Any) -> str:
        return "taken"

    @server.tool(output_schema={})
    def output(value: Any) -> Any:
        return value

    @server.prompt
    def prompt(value: list[Any]) -> str:
        return "taken"

    async def read(request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        if request.name == "by_hand":
            request.arguments  # noqa: B018 - decodes them
        return await call_next(request)

    server.add_middleware(read)


NAMES = ("number", "anything", "returned", "union", "recursive", "model", "constrained", "by_hand",
         "output")  # fmt: skip


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("accept_json_strings", [False, True])
def test_deep_arguments_are_invalid(
    depth: int, accept_json_strings: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    server = make_server(accept_json_strings=accept_json_strings)
    values = ["[" * depth + "]" * depth, '{"child":' * depth + "null" + "}" * depth]
    if accept_json_strings:
        values += [json.dumps(value) for value in values]

    async def send(method: str, params: str) -> dict[str, Any]:
        message = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
        raw = await server.handle(message)
        assert raw is not None
        answer: dict[str, Any] = json.loads(raw)
        return answer

    async def main() -> None:
        for value in values:
            for name in NAMES:
                params = f'{{"name":"{name}","arguments":{{"value":{value}}}}}'
                check(await send("tools/call", params), name, depth)
                check(await send("tools/call", params.replace('"value"', '"other"')), name, depth)
            params = f'{{"name":"prompt","arguments":{{"value":{json.dumps(value)}}}}}'
            check(await send("prompts/get", params), "prompt", depth)

    asyncio.run(main())
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def check(answer: dict[str, Any], name: str, depth: int) -> None:
    shown = json.dumps(answer)[:300]
    if "error" in answer:
        assert answer["error"]["code"] in (-32602, -32700), (name, depth, shown)
    elif answer["result"].get("isError"):
        text = answer["result"]["content"][0]["text"]
        assert text.startswith("Invalid arguments"), (name, depth, shown)
