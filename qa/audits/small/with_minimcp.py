"""A small server written with MiniMCP: `with_minimcp.py [PORT]`. It needs its own environment."""

from __future__ import annotations

import asyncio
import sys

import uvicorn
from mcp.types import ToolAnnotations
from minimcp import MiniMCP, StdioTransport, StreamableHTTPTransport

server = MiniMCP("small")


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.resource("memo://today")
async def today() -> str:
    """What is on today."""
    return "rain"


@server.resource("memo://days/{day}")
async def day(day: str) -> str:
    """What was on a day."""
    return f"sun on {day}"


@server.prompt()
async def review(code: str) -> str:
    """Review some code."""
    return f"Review {code}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        app = StreamableHTTPTransport(server).as_starlette("/mcp")
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
    else:
        asyncio.run(StdioTransport(server).run())
