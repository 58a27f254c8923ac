"""A server whose tasks leave traces, and a process that makes tasks until it is killed.

    python -m tests.deep.durability.digger STORE TRACES COUNT

Says on stdout what it knows: `made ID TOOL` once the client has the id, `done ID` once the client
has seen the end. COUNT 0: tasks without end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from dovetail import Context, Options, Server
from dovetail.spec import keys

__all__ = ["Caller", "make_server", "say"]

_META = {
    keys.PROTOCOL_VERSION: "2026-07-28",
    keys.CLIENT_CAPABILITIES: {"elicitation": {}, "extensions": {keys.TASKS: {}}},
}
_AT_ONCE = 16


def make_server(store: Path, traces: Path) -> Server:
    """Tools that write what they do at the end of a file."""
    options = Options(state=f"sqlite:///{store}", tasks_per_owner=100_000, grace=1.0)
    server = Server("digger", options=options)

    def trace(text: str) -> None:
        # One write, at the end: lines of several processes do not mix.
        descriptor = os.open(traces, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{text}\n".encode())
        os.close(descriptor)

    @server.tool(task="required")
    async def dig(number: int) -> str:
        """Work that cannot be run again."""
        await asyncio.sleep(0)
        trace(f"dig {number}")
        return f"dug {number}"

    @server.tool(task="required", resumable=True)
    async def build(number: int, ctx: Context) -> str:
        """Two steps, each of which happens once however often it is run."""
        for step in ("floor", "roof"):
            await ctx.once(step, lambda step=step: trace(f"{step} {number}"))
            await asyncio.sleep(0)
        return f"built {number}"

    @server.tool(task="required", resumable=True)
    async def ask(number: int, ctx: Context) -> str:
        """Waits for somebody who never answers."""
        await ctx.elicit("Well?", {"type": "object", "properties": {"ok": {"type": "boolean"}}})
        return f"asked {number}"

    return server


class Caller:
    """A client that talks to a server in its own process."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The response."""
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {**params, "_meta": _META},
        }
        answer = await self._server.handle(json.dumps(message).encode())
        assert answer is not None
        decoded: dict[str, Any] = json.loads(answer)
        return decoded

    async def make(self, tool: str, number: int) -> str:
        """The id of a new task."""
        params = {"name": tool, "arguments": {"number": number}}
        created = await self.request("tools/call", params)
        return str(created["result"]["taskId"])

    async def get(self, id: str) -> dict[str, Any]:
        """What tasks/get answers."""
        shown: dict[str, Any] = (await self.request("tasks/get", {"taskId": id}))["result"]
        return shown

    async def see_end(self, id: str) -> dict[str, Any]:
        """The task when it has ended."""
        while True:
            task = await self.get(id)
            if task["status"] not in ("working", "input_required"):
                return task
            await asyncio.sleep(0.005)


def say(*words: object) -> None:
    """Print a line at once."""
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


async def _main(store: Path, traces: Path, count: int) -> None:
    server = make_server(store, traces)
    await server.start()
    caller = Caller(server)
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> None:
        async with room:
            tool = "dig" if count or number % 2 else "build"
            id = await caller.make(tool, number)
            say("made", id, tool)
            await caller.see_end(id)
            say("done", id)

    if count:
        await asyncio.gather(*(one(os.getpid() * 10_000 + number) for number in range(count)))
        await server.close()
        return
    await caller.make("ask", 0)
    number = 0
    while True:
        number += _AT_ONCE
        await asyncio.gather(*(one(number + n) for n in range(_AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
