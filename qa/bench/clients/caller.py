"""One client calls a server over HTTP, on a connection that stays open.

usage: python caller.py dovetail|mcp|fastmcp URL legacy|modern CALLS     (prints CPU and wall time)

Every client is used as its documentation shows it, and every sum is checked.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

MODES = {"legacy": "legacy", "modern": "2026-07-28"}
_WARM_UP = 50

Call = Callable[[int], Awaitable[Any]]


@asynccontextmanager
async def with_dovetail(url: str, era: str) -> AsyncIterator[Call]:
    from dovetail import Client  # noqa: PLC0415 - each environment has one of the libraries

    async with Client(url, mode=MODES[era]) as client:

        async def call(number: int) -> Any:
            return (await client.call("add", {"a": number, "b": 2})).text

        yield call


@asynccontextmanager
async def with_mcp(url: str, era: str) -> AsyncIterator[Call]:
    from mcp import Client  # noqa: PLC0415

    async with Client(url, mode=MODES[era]) as client:

        async def call(number: int) -> Any:
            return (await client.call_tool("add", {"a": number, "b": 2})).content[0].text

        yield call


@asynccontextmanager
async def with_fastmcp(url: str, era: str) -> AsyncIterator[Call]:
    from fastmcp import Client  # noqa: PLC0415

    async with Client(url, mode=MODES[era]) as client:

        async def call(number: int) -> Any:
            return (await client.call_tool("add", {"a": number, "b": 2})).content[0].text

        yield call


CLIENTS = {"dovetail": with_dovetail, "mcp": with_mcp, "fastmcp": with_fastmcp}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def main(library: str, url: str, era: str, calls: int) -> None:
    async with CLIENTS[library](url, era) as call:
        for number in range(_WARM_UP):
            await call(number)
        cpu, wall = _cpu(), time.perf_counter()
        for number in range(calls):
            said = await call(number)
            assert said == str(number + 2), said
        spent = {"cpu": (_cpu() - cpu) / calls, "wall": (time.perf_counter() - wall) / calls}
    print(json.dumps(spent))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
