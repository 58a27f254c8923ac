"""A server with tasks in a process of its own; prints what they cost, as JSON.

    python yard.py URL TASKS PARKED

Nothing carries the messages: it is the tasks that are measured. Memory is what the process has
from the system (RSS), before and after, with tasks that come in batches as users make them.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail import Context, Options, Server

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    },
}
BATCH = 500
PARKED_AT_ONCE = 1000


@dataclass
class Approval:
    approved: bool


def make_server(store: str) -> Server:
    server = Server("yard", options=Options(state=store, tasks_per_owner=10**6))

    @server.tool(task="required")
    async def nothing() -> str:
        return ""

    @server.tool(task="required")
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Go on?", Approval)
        return str(answer.data)

    return server


def message(method: str, params: dict[str, Any]) -> bytes:
    whole = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(whole).encode()


def memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Caller:
    def __init__(self, server: Server) -> None:
        self._server = server

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        answer = await self._server.handle(message(method, params))
        assert answer is not None
        return json.loads(answer)["result"]

    async def make(self, tool: str) -> str:
        created = await self.ask("tools/call", {"name": tool, "arguments": {}})
        return str(created["taskId"])

    async def until(self, id: str, status: str) -> None:
        while (await self.ask("tasks/get", {"taskId": id}))["status"] != status:
            await asyncio.sleep(0.001)


async def measure_turns(caller: Caller, tasks: int) -> dict[str, float]:
    """CPU of making a task that does nothing, until it has ended; and of looking at it."""
    for _ in range(100):
        await caller.until(await caller.make("nothing"), "completed")
    began, ids = time.process_time(), []
    for _ in range(tasks // BATCH):
        ids = [await caller.make("nothing") for _ in range(BATCH)]
        await caller.until(ids[-1], "completed")
    made = time.process_time() - began
    began = time.process_time()
    for id in ids:
        await caller.ask("tasks/get", {"taskId": id})
    return {
        "create_us": made / (tasks // BATCH * BATCH) * 1e6,
        "poll_us": (time.process_time() - began) / len(ids) * 1e6,
    }


async def measure_parked(caller: Caller, parked: int) -> float:
    """Bytes of a task that waits for its client."""
    await park(caller, PARKED_AT_ONCE)
    before = memory()
    for _ in range(parked // PARKED_AT_ONCE):
        await park(caller, PARKED_AT_ONCE)
    return (memory() - before) / parked


async def park(caller: Caller, count: int) -> None:
    ids = [await caller.make("ask") for _ in range(count)]
    for id in ids:
        await caller.until(id, "input_required")


async def main(store: str, tasks: int, parked: int) -> dict[str, float]:
    server = make_server(store)
    await server.start()
    caller = Caller(server)
    figures = await measure_turns(caller, tasks)
    figures["parked_bytes"] = await measure_parked(caller, parked)
    if store != "memory://":
        file = Path(store.removeprefix("sqlite:///"))
        figures["row_bytes"] = file.stat().st_size / (tasks + parked)
    await server.close()
    return figures


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
