"""FastMCP, as its documentation shows it, without banner and with its log turned down."""

from __future__ import annotations

import asyncio
import os
import time

from fastmcp import FastMCP
from fastmcp.tools import Tool

server = FastMCP("bench")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def nap(a: int, b: int) -> int:
    """Add two numbers, slowly."""
    await asyncio.sleep(0.2)
    return a + b


@server.tool
def nap_sync(a: int, b: int) -> int:
    """Add two numbers, slowly."""
    time.sleep(0.2)
    return a + b


async def sample(text: str, count: int = 1, exact: bool = False) -> str:
    """Repeat a text."""
    return text * count


for number in range(int(os.environ.get("BENCH_TOOLS", "0"))):
    server.add_tool(
        Tool.from_function(
            sample, name=f"tool_{number:04}", description=f"Repeat text, way {number}."
        )
    )

if __name__ == "__main__":
    server.run(show_banner=False, log_level="ERROR")
