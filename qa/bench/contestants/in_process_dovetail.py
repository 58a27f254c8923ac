"""dovetail in process: `await server.handle(bytes)`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from qa.bench.contestants.in_process import Run, Timing, drive, timed
from qa.bench.contestants.with_dovetail import server
from qa.bench.messages import Era, call_messages


@asynccontextmanager
async def connect(era: Era) -> AsyncIterator[Run]:
    async def run(tool: str, count: int) -> Timing:
        return await timed(server.handle, call_messages(tool, era, 1, count))

    yield run


if __name__ == "__main__":
    drive(connect)
