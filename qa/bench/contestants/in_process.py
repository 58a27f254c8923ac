"""The loop around every in-process contestant.

Orders come in as lines of JSON (`{"tool": ..., "era": ..., "count": ...}`), each answered
with the CPU and wall seconds that its calls took, so that the contestants can take turns.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias, TypeVar

from qa.bench.messages import Era

__all__ = ["Run", "drive", "timed"]

T = TypeVar("T")
Timing: TypeAlias = tuple[float, float, Any]
Run: TypeAlias = Callable[[str, int], Awaitable[Timing]]


async def timed(call: Callable[[T], Awaitable[Any]], items: Sequence[T]) -> Timing:
    """CPU seconds, wall seconds and the last answer of one call after the other."""
    last = None
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    for item in items:
        last = await call(item)
    return time.process_time() - cpu, time.perf_counter() - wall, last


async def _serve(
    connect: Callable[[Era], AbstractAsyncContextManager[Run]], eras: Iterable[Era]
) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        era: Era = order["era"]
        if era not in eras:
            raise ValueError(f"no such era here: {era}")
        async with connect(era) as run:
            await run(order["tool"], 20)
            cpu, wall, last = await run(order["tool"], order["count"])
        sys.stdout.write(json.dumps({"cpu": cpu, "wall": wall, "last": str(last)}) + "\n")
        sys.stdout.flush()


def drive(
    connect: Callable[[Era], AbstractAsyncContextManager[Run]],
    eras: Iterable[Era] = ("legacy", "modern"),
) -> None:
    """Serve orders until stdin ends."""
    asyncio.run(_serve(connect, tuple(eras)))
