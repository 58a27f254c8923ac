"""Streams that are cut off and resumed at another process."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import httpx

from qa.cluster.effort import Effort, running_shop
from qa.soak.verdicts import Verdict
from tests.cluster.legacy_client import LegacyClient
from tests.patience import CAP

__all__ = ["measure_events"]

_AT_ONCE = 8


async def measure_events(effort: Effort, folder: Path) -> list[Verdict]:
    """Read each stream in part at one process, and the rest at another one."""
    wanted = list(range(1, effort.events_per_stream + 1))
    with running_shop(folder) as cluster:
        urls = [process.url for process in cluster.processes]
        turns = asyncio.Semaphore(_AT_ONCE)

        async def read(number: int) -> list[int]:
            async with turns, httpx.AsyncClient(timeout=CAP) as http:
                return await _read(LegacyClient(http, urls), number, len(wanted))

        got = await asyncio.gather(*(read(number) for number in range(effort.streams)))
    total = effort.streams * effort.events_per_stream
    lost = sum(len(set(wanted) - set(each)) for each in got)
    doubled = sum(len(each) - len(set(each)) for each in got)
    unordered = sum(each != sorted(each) for each in got)
    what = f"{total:,} events, {effort.streams:,} disconnects, resumed at another process"
    return [
        Verdict(f"{what}: lost", "0", str(lost), lost == 0),
        Verdict(f"{what}: duplicated", "0", str(doubled), doubled == 0),
        Verdict(f"{what}: streams out of order", "0", str(unordered), unordered == 0),
    ]


async def _read(client: LegacyClient, number: int, events: int) -> list[int]:
    """The numbers that arrived, over two connections."""
    chance = random.Random(number)
    first, second = chance.sample(range(len(client.urls)), 2)
    await client.start(first)
    await client.ready(second)
    got: list[int] = []
    last = ""
    stop = chance.randrange(1, events)
    async with client.streamed_call(first, "count", number=events, gap=0.002) as stream:
        async for id, data in stream:
            last = id
            _note(got, data)
            if len(got) == stop:
                break
    headers = {"last-event-id": last}
    async with client.stream(second, **headers) as stream:
        async for _, data in stream:
            if _note(got, data):
                break
    return got


def _note(got: list[int], data: str) -> bool:
    """Note a number; True for the result, which is the last."""
    message = json.loads(data) if data else {}
    if message.get("method") == "notifications/progress":
        got.append(int(message["params"]["progress"]))
    return "result" in message
