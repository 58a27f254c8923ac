"""A small server written with FastMCP: `with_fastmcp.py [PORT]`."""

from __future__ import annotations

import sys

from fastmcp import FastMCP

server = FastMCP("small")


@server.tool(annotations={"readOnlyHint": True})
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


@server.prompt
def review(code: str) -> str:
    """Review some code."""
    return f"Review {code}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
    else:
        server.run(show_banner=False)
