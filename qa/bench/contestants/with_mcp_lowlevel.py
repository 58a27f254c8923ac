"""The official SDK's low-level Server: no decorators, schemas by hand, arguments unchecked.

It does less than the others (nothing compares the arguments with the schema), which makes it
the SDK's fastest way to serve a tool.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
SAMPLE = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer", "default": 1},
        "exact": {"type": "boolean", "default": False},
    },
    "required": ["text"],
}
RESULT = {
    "type": "object",
    "properties": {"result": {"type": "integer"}},
    "required": ["result"],
}
tools = [
    types.Tool(
        name=name, description="Add two numbers.", input_schema=NUMBERS, output_schema=RESULT
    )
    for name in ("add", "add_sync", "nap", "nap_sync")
] + [
    types.Tool(
        name=f"tool_{number:04}", description=f"Repeat text, way {number}.", input_schema=SAMPLE
    )
    for number in range(int(os.environ.get("BENCH_TOOLS", "0")))
]


async def list_tools(
    ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(tools=tools)


def nap_sync(a: int, b: int) -> int:
    time.sleep(0.2)
    return a + b


async def call_tool(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    arguments = params.arguments or {}
    if params.name == "nap":
        await asyncio.sleep(0.2)
    if params.name == "nap_sync":
        total = await anyio.to_thread.run_sync(nap_sync, arguments["a"], arguments["b"])
    else:
        total = arguments["a"] + arguments["b"]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=str(total))],
        structured_content={"result": total},
    )


server = Server("bench", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
