"""dovetail in process, through its own in-memory client: comparable with those of the peers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail.client import CallResult, Client
from qa.bench.contestants.in_process import Run, Timing, drive, timed
from qa.bench.contestants.with_dovetail import server
from qa.bench.messages import Era


@asynccontextmanager
async def connect(era: Era) -> AsyncIterator[Run]:
    async with Client(server, mode=era) as client:

        async def run(tool: str, count: int) -> Timing:
            async def call(number: int) -> CallResult:
                return await client.call(tool, {"a": number, "b": 2})

            return await timed(call, range(count))

        yield run


if __name__ == "__main__":
    drive(connect)
