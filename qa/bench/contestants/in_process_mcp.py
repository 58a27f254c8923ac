"""The official SDK in process: its in-memory client, the nearest thing it has to `handle`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client
from mcp_types import CallToolResult

from qa.bench.contestants.in_process import Run, Timing, drive, timed
from qa.bench.contestants.with_mcp import server
from qa.bench.messages import Era


@asynccontextmanager
async def connect(era: Era) -> AsyncIterator[Run]:
    async with Client(server, mode="legacy" if era == "legacy" else "2026-07-28") as client:

        async def run(tool: str, count: int) -> Timing:
            async def call(number: int) -> CallToolResult:
                return await client.call_tool(tool, {"a": number, "b": 2})

            return await timed(call, range(count))

        yield run


if __name__ == "__main__":
    drive(connect)
