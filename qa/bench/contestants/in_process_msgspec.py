"""The floor in process: decode, add, encode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from qa.bench.contestants.in_process import Run, Timing, drive, timed
from qa.bench.contestants.with_msgspec import answer
from qa.bench.messages import Era, call_messages


async def handle(message: bytes) -> bytes:
    return answer(message)


@asynccontextmanager
async def connect(era: Era) -> AsyncIterator[Run]:
    async def run(tool: str, count: int) -> Timing:
        return await timed(handle, call_messages(tool, era, 1, count))

    yield run


if __name__ == "__main__":
    drive(connect)
