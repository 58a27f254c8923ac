"""CPU of a call in process, to a server and through a mount of it; run as a program.

Prints two numbers: microseconds of a call of the server itself, and of the same tool where the
server is mounted. Both take turns, and the best turn of each counts.
"""

from __future__ import annotations

import asyncio

from dovetail import Server
from qa.bench.contestants.in_process import timed
from qa.bench.messages import call_messages

_TURNS = 40
_CALLS = 2_000


def _adder() -> Server:
    server = Server("adder")

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    return server


async def _measure() -> tuple[float, float]:
    outer = Server("outer")
    outer.mount(_adder(), prefix="shop")
    ways = [(_adder(), "add"), (outer, "shop_add")]
    best = [float("inf")] * len(ways)
    for _ in range(_TURNS):
        for number, (server, tool) in enumerate(ways):
            cpu, _, last = await timed(server.handle, call_messages(tool, "modern", 1, _CALLS))
            assert b'"isError"' not in last and b'"error"' not in last, last
            best[number] = min(best[number], cpu / _CALLS * 1e6)
    return best[0], best[1]


if __name__ == "__main__":
    print(*asyncio.run(_measure()))
