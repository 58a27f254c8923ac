"""MiniMCP, as its documentation shows it. It runs on mcp 1 and knows the legacy era only."""

from __future__ import annotations

import asyncio
import os
import time

from minimcp import (  # type: ignore[import-not-found] # needs an environment of its own
    MiniMCP,
    StdioTransport,
)

server = MiniMCP("bench", max_concurrency=int(os.environ.get("BENCH_CONCURRENCY", "100")))


@server.tool()  # type: ignore[untyped-decorator] # as above: its types are not here
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()  # type: ignore[untyped-decorator]
def add_sync(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()  # type: ignore[untyped-decorator]
async def nap(a: int, b: int) -> int:
    """Add two numbers, slowly."""
    await asyncio.sleep(0.2)
    return a + b


@server.tool()  # type: ignore[untyped-decorator]
def nap_sync(a: int, b: int) -> int:
    """Add two numbers, slowly."""
    time.sleep(0.2)
    return a + b


async def sample(text: str, count: int = 1, exact: bool = False) -> str:
    """Repeat a text."""
    return text * count


for number in range(int(os.environ.get("BENCH_TOOLS", "0"))):
    server.tool.add(sample, name=f"tool_{number:04}", description=f"Repeat text, way {number}.")

if __name__ == "__main__":
    asyncio.run(StdioTransport(server).run())
