"""MiniMCP in process: `await server.handle(str)`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from qa.bench.contestants.in_process import Run, Timing, drive, timed
from qa.bench.contestants.with_minimcp import server
from qa.bench.messages import Era, call_messages


@asynccontextmanager
async def connect(era: Era) -> AsyncIterator[Run]:
    async def run(tool: str, count: int) -> Timing:
        messages = [message.decode() for message in call_messages(tool, era, 1, count)]
        return await timed(server.handle, messages)

    yield run


if __name__ == "__main__":
    drive(connect, ["legacy"])
