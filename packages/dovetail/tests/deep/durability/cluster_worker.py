"""A process of a cluster that holds many unfinished tasks until it is killed, or finishes others'.

    python -m tests.deep.durability.cluster_worker URL TRACES COUNT

Prints `made ID TOOL` for each task, and `ready` when all of them have done their first step.
COUNT 0: it creates none, and finishes those that it takes over.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from dovetail import Context, Options, Server
from tests.cluster.shop import STATE_KEY
from tests.deep.durability.digger import Caller, say

__all__ = ["make_server", "report"]


def report(traces: Path, text: str) -> None:
    """Append a line: one write, so lines of several processes do not mix."""
    descriptor = os.open(traces, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{text}\n".encode())
    os.close(descriptor)


def make_server(url: str, traces: Path, gate: asyncio.Event) -> Server:
    """A server whose tasks stop in the middle until the gate opens."""
    options = Options(
        state=url,
        state_keys=[STATE_KEY],
        tasks_per_owner=100_000,
        task_concurrency=100_000,
        grace=1.0,
    )
    server = Server("digger", options=options)

    @server.tool(task="required", resumable=True)
    async def build(number: int, ctx: Context) -> str:
        """Two steps, each of which happens once."""
        await ctx.once("floor", lambda: report(traces, f"floor {number}"))
        await gate.wait()
        await ctx.once("roof", lambda: report(traces, f"roof {number}"))
        return f"built {number}"

    @server.tool(task="required")
    async def dig(number: int) -> str:
        """Work that cannot be run again."""
        report(traces, f"dig {number}")
        await gate.wait()
        return f"dug {number}"

    return server


async def _main(url: str, traces: Path, count: int) -> None:
    gate = asyncio.Event()
    if not count:
        gate.set()
    server = make_server(url, traces, gate)
    await server.start()
    caller = Caller(server)
    first = os.getpid() * 100_000
    for number in range(count):
        # One of ten cannot be run again.
        tool = "build" if number % 10 else "dig"
        say("made", await caller.make(tool, first + number), tool)
    mine = {f"{word} {first + number}" for number in range(count) for word in ("floor", "dig")}
    while len(mine.intersection(traces.read_text("utf-8").splitlines())) < count:
        await asyncio.sleep(0.05)
    # A step is busy until its result is saved.
    while any(run.call.record.busy for run in server._tasks.keeper._live.values()):
        await asyncio.sleep(0.01)
    say("ready")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
