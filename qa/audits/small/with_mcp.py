"""A small server written with the official SDK: `with_mcp.py [PORT]`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("small")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.resource("memo://today")
def today() -> str:
    """What is on today."""
    return "rain"


@server.resource("memo://days/{day}")
def day(day: str) -> str:
    """What was on a day."""
    return f"sun on {day}"


@server.prompt()
def review(code: str) -> str:
    """Review some code."""
    return f"Review {code}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
