"""Processes that are killed in the middle of their work, and files that several share.

A few runs by default; DURABILITY_RUNS=100 (make durability) is the whole test.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from dovetail.runtime.state import ServerState
from dovetail.state import SQLiteBackend
from dovetail.tasks.store import FINAL, TaskStore
from tests.deep.durability.digger import Caller, make_server
from tests.patience import CAP

RUNS = int(os.environ.get("DURABILITY_RUNS", "10"))
TASKS_EACH = int(os.environ.get("DURABILITY_TASKS", "500"))


def start(store: Path, traces: Path, count: int) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "tests.deep.durability.digger",
        str(store),
        str(traces),
        str(count),
    ]
    # Not measured: a process that is killed could not say what it has covered.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def kill_after(process: subprocess.Popen[bytes], lines: int) -> list[list[str]]:
    """What it had said when it was killed, after so many lines."""
    assert process.stdout is not None
    try:
        said = [process.stdout.readline() for _ in range(lines)]
    finally:
        process.kill()
    said += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    # The last line may be cut.
    return [line.decode().split() for line in said if line.endswith(b"\n")]


def rows_of(store: Path) -> dict[str, str]:
    with sqlite3.connect(store) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    return asyncio.run(read_statuses(store))


async def read_statuses(store: Path) -> dict[str, str]:
    async with SQLiteBackend(store).opened() as backend:
        return {
            stored.row.id: stored.row.status
            async for stored in TaskStore(ServerState(backend, "digger")).scan()
        }


async def restart(store: Path, traces: Path, made: dict[str, str]) -> dict[str, dict[str, object]]:
    """Every task as a client sees it, once a new process has looked after it."""
    server = make_server(store, traces)
    await server.start()
    caller = Caller(server)
    try:
        async with asyncio.timeout(CAP):
            return {id: await caller.see_end(id) for id in made}
    finally:
        await server.close()


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
def test_a_killed_process_loses_nothing_that_was_finished(tmp_path: Path, run: int) -> None:
    store, traces = tmp_path / "tasks.sqlite3", tmp_path / "traces"
    said = kill_after(start(store, traces, 0), random.Random(run).randrange(1, 400))
    made = {words[1]: words[2] for words in said if words[0] == "made"}
    done = {words[1] for words in said if words[0] == "done"}
    rows = rows_of(store)
    assert made.keys() <= rows.keys()
    assert all(rows[id] == "completed" for id in done)
    ended = asyncio.run(restart(store, traces, made))
    for id, tool in made.items():
        status = ended[id]["status"]
        # What can be run again was, and the rest says why it was not.
        assert status == "completed" or (tool == "dig" and status == "failed"), (tool, ended[id])
        if status == "failed":
            assert "has ended before it" in str(ended[id]["statusMessage"])
    stuck = {id for id, status in rows_of(store).items() if status not in FINAL}
    assert len(stuck) <= 1, "only the one that asks may still wait"
    counts = Counter(traces.read_text("utf-8").splitlines())
    # A step may have happened just before it could be recorded; never a step that was.
    assert max(counts.values()) <= 2
    assert sum(count > 1 for count in counts.values()) <= 16


@pytest.mark.slow
def test_two_processes_share_a_file_and_each_task_ends_once(tmp_path: Path) -> None:
    store, traces = tmp_path / "tasks.sqlite3", tmp_path / "traces"
    processes = [start(store, traces, TASKS_EACH) for _ in range(2)]
    said = [process.communicate(timeout=CAP)[0].decode().split("\n") for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    done = [line for lines in said for line in lines if line.startswith("done ")]
    assert len(set(done)) == len(done) == 2 * TASKS_EACH
    assert Counter(rows_of(store).values()) == {"completed": 2 * TASKS_EACH}
    counts = Counter(traces.read_text("utf-8").splitlines())
    assert len(counts) == sum(counts.values()) == 2 * TASKS_EACH


def test_a_task_of_one_process_is_answered_and_cancelled_through_another(tmp_path: Path) -> None:
    store, traces = tmp_path / "tasks.sqlite3", tmp_path / "traces"

    async def scenario() -> None:
        one, other = make_server(store, traces), make_server(store, traces)
        await one.start()
        await other.start()
        here, there = Caller(one), Caller(other)
        try:
            async with asyncio.timeout(CAP):
                asking = await here.make("ask", 1)
                while (await there.get(asking))["status"] != "input_required":
                    await asyncio.sleep(0.01)
                [key] = (await there.get(asking))["inputRequests"]
                answers = {key: {"action": "accept", "content": {"ok": True}}}
                await there.request("tasks/update", {"taskId": asking, "inputResponses": answers})
                assert (await there.see_end(asking))["status"] == "completed"
                cancelled = await here.make("ask", 2)
                await there.request("tasks/cancel", {"taskId": cancelled})
                assert (await there.get(cancelled))["status"] == "cancelled"
                assert (await here.see_end(cancelled))["status"] == "cancelled"
        finally:
            await one.close()
            await other.close()

    asyncio.run(scenario())


@pytest.mark.slow
def test_what_a_killed_process_leaves_is_taken_over_by_one_that_runs(tmp_path: Path) -> None:
    store, traces = tmp_path / "tasks.sqlite3", tmp_path / "traces"

    async def scenario() -> None:
        server = make_server(store, traces)
        await server.start()
        process = start(store, traces, 0)
        said = await asyncio.to_thread(kill_after, process, 50)
        caller = Caller(server)
        try:
            async with asyncio.timeout(CAP):
                for words in said:
                    if words[0] == "made":
                        task = await caller.see_end(words[1])
                        assert task["status"] in ("completed", "failed")
                # Tasks that the process made but did not report before it was killed.
                while "working" in (await read_statuses(store)).values():
                    await asyncio.sleep(0.05)
        finally:
            await server.close()

    asyncio.run(scenario())
    stuck = [status for status in rows_of(store).values() if status not in FINAL]
    assert stuck in ([], ["input_required"], ["input_required"] * 2)
