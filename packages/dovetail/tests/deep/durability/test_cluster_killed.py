"""A process of a cluster is killed while it runs many tasks: the others finish them.

One kill and few tasks by default; `make durability` kills 20 processes with 1,000 tasks each, and
four others take over: two in this process, two of their own.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail import Server
from dovetail.spec import keys
from tests.deep.durability.cluster_worker import make_server
from tests.deep.durability.digger import Caller, say
from tests.patience import CAP
from tests.unit.talk import MODERN, Wire

KILLS = int(os.environ.get("CLUSTER_KILLS", "1"))
TASKS = int(os.environ.get("CLUSTER_TASKS", "40"))
# The full form runs alone on its machine, so it asserts the time.
IS_FULL = "CLUSTER_KILLS" in os.environ
MAX_SECONDS = 5.0 if IS_FULL else CAP

KNOWS: dict[str, Any] = {"elicitation": {}, "extensions": {keys.TASKS: {}}}


def start_worker(url: str, traces: Path, count: int) -> subprocess.Popen[bytes]:
    module = "tests.deep.durability.cluster_worker"
    command = [sys.executable, "-m", module, url, str(traces), str(count)]
    # Not measured: a process that is killed could not say what it has covered.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def read_until_ready(process: subprocess.Popen[bytes]) -> dict[str, str]:
    """The tools of the tasks by their ids."""
    assert process.stdout is not None
    made: dict[str, str] = {}
    for line in process.stdout:
        words = line.decode().split()
        if words == ["ready"]:
            return made
        made[words[1]] = words[2]
    raise AssertionError("the process ended before it was ready")


@asynccontextmanager
async def listening(server: Server, ids: list[str]) -> AsyncIterator[Wire]:
    """A client of this process that is notified of these tasks."""
    wire = await Wire(server, MODERN, KNOWS).open()
    wire.put("subscriptions/listen", {"notifications": {"taskIds": ids}})
    await wire.until(lambda message: "acknowledged" in message.get("method", ""))
    try:
        yield wire
    finally:
        await wire.connection.close()


async def see_all_end(wire: Wire, ids: set[str]) -> dict[str, Any]:
    """The last notification about each task."""
    ended: dict[str, Any] = {}
    seen = 0
    while ended.keys() != ids:
        await wire.wait_for_more(seen)
        for message in wire.sent[seen:]:
            task = message.get("params", {})
            if task.get("status") in ("completed", "failed"):
                assert task["taskId"] not in ended, "notified twice"
                ended[task["taskId"]] = task
        seen = len(wire.sent)
    return ended


@pytest.mark.slow
def test_the_tasks_of_a_killed_process_are_finished_by_others(
    cluster_url: str, tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    traces.touch()
    times: list[float] = []

    async def kill_one(servers: list[Server]) -> None:
        process = start_worker(cluster_url, traces, TASKS)
        try:
            made = await asyncio.to_thread(read_until_ready, process)
            async with listening(servers[0], [*made]) as wire:
                process.kill()
                killed = time.monotonic()
                ended = await see_all_end(wire, {*made})
                times.append(time.monotonic() - killed)
        finally:
            process.kill()
            await asyncio.to_thread(process.communicate)
        caller = Caller(servers[1])
        for id, tool in made.items():
            shown = await caller.get(id)
            assert shown["status"] == ended[id]["status"]
            if tool == "build":
                assert shown["status"] == "completed", shown
                assert shown["result"]["content"][0]["text"].startswith("built")
            else:
                assert shown["status"] == "failed", shown
                assert "has ended before it" in shown["statusMessage"]

    async def scenario() -> None:
        gate = asyncio.Event()
        gate.set()
        servers = [make_server(cluster_url, traces, gate) for _ in range(2)]
        others = [start_worker(cluster_url, traces, 0) for _ in range(2 * IS_FULL)]
        for server in servers:
            await server.start()
        try:
            for other in others:
                await asyncio.to_thread(read_until_ready, other)
            async with asyncio.timeout(CAP * KILLS):
                for _ in range(KILLS):
                    await kill_one(servers)
        finally:
            for other in others:
                other.kill()
                await asyncio.to_thread(other.communicate)
            for server in servers:
                await server.close()

    asyncio.run(scenario())
    say("seconds from the kill to the last task:", *(f"{seconds:.2f}" for seconds in times))
    counts = Counter(traces.read_text("utf-8").splitlines())
    # floor and roof of nine of ten tasks, dig of the tenth: each exactly once.
    assert len(counts) == sum(counts.values()) == KILLS * (TASKS * 9 // 10 * 2 + TASKS // 10)
    assert max(times) <= MAX_SECONDS
