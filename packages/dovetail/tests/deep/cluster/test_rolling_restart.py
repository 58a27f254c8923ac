"""SIGHUP replaces all workers while clients call, and no call fails."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.load import Load
from tests.patience import CAP, wait_until

SERVER = Path(__file__).parent / "rolling.py"
# `make cluster` makes 100,000 calls.
CALLS = int(os.environ.get("ROLLING_CALLS", "2000"))
CLIENTS, WORKERS = 8, 2
RESTARTED = "All workers have been restarted"
KEPT = "The new worker could not start; the old workers go on"


class Workers:
    """The supervisor of some workers."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, *, has_sessions: bool) -> None:
        self._process = process
        self._log = log
        self._has_sessions = has_sessions
        found = wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)/", self._said))
        assert found is not None
        self.port = int(found[1])

    @property
    def _said(self) -> str:
        assert self._process.poll() is None, self._log.read_text()
        return self._log.read_text()

    async def wait_for_all(self) -> set[str]:
        """Wait until all workers answer, and return them; the first one announces the address."""
        seen: set[str] = set()
        async with asyncio.timeout(CAP):
            while len(seen) < WORKERS:
                load = Load(self.port, WORKERS, WORKERS, sessions=self._has_sessions)
                await load.stop()
                seen |= set(load.answers)
        return seen

    async def wait_for(self, text: str) -> None:
        """Wait until the supervisor has reported this."""
        async with asyncio.timeout(CAP):
            while text not in self._said:
                await asyncio.sleep(0.05)

    async def restart(self, outcome: str = RESTARTED) -> None:
        """Replace all workers, and wait until the supervisor reports this outcome."""
        before = self._said.count(outcome)
        self._process.send_signal(signal.SIGHUP)
        async with asyncio.timeout(CAP):
            while self._said.count(outcome) == before:
                await asyncio.sleep(0.05)


@contextmanager
def running_workers(file: Path, folder: Path, cluster: str | None = None) -> Iterator[Workers]:
    log = folder / "log"
    words = ["run", str(file), "--http=0", f"--workers={WORKERS}"]
    words.append("--stateless" if cluster is None else f"--cluster={cluster}")
    env = {**os.environ, "DOVETAIL_STATE_KEYS": "00" * 32}
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", "dovetail", *words], stderr=stderr, env=env
        ) as process,
    ):
        try:
            yield Workers(process, log, has_sessions=cluster is not None)
        finally:
            process.terminate()
            process.wait(CAP)


async def restart_under_load(workers: Workers, *, sessions: bool) -> None:
    first = await workers.wait_for_all()
    load = Load(workers.port, CLIENTS, CALLS, sessions=sessions)
    await load.reach(CALLS // 4)
    await workers.restart()
    await load.stop()
    assert load.failures == []
    # All workers are new ones, and all of them serve.
    serving: set[str] = set()
    async with asyncio.timeout(CAP):
        while len(serving) < WORKERS:
            # The kernel chooses the worker of a connection.
            after = Load(workers.port, CLIENTS, CLIENTS, sessions=sessions)
            await after.stop()
            serving |= set(after.answers)
            assert serving.isdisjoint(first)


def test_no_call_fails_while_all_workers_are_replaced(tmp_path: Path) -> None:
    with running_workers(SERVER, tmp_path) as workers:
        asyncio.run(restart_under_load(workers, sessions=False))


def test_no_session_is_lost_while_all_workers_of_a_cluster_are_replaced(
    cluster_url: str, tmp_path: Path
) -> None:
    with running_workers(SERVER, tmp_path, cluster_url) as workers:
        asyncio.run(restart_under_load(workers, sessions=True))


def test_the_old_workers_go_on_if_a_new_one_cannot_start(tmp_path: Path) -> None:
    file = tmp_path / "server.py"
    shutil.copy(SERVER, file)

    async def run() -> None:
        with running_workers(file, tmp_path) as workers:
            await workers.wait_for_all()
            file.write_text("1 / 0\n")
            await workers.restart(KEPT)
            load = Load(workers.port, CLIENTS, 4 * CLIENTS)
            await load.stop()
            assert load.failures == []
            # The same for a worker that dies.
            os.kill(int(next(iter(load.answers))), signal.SIGKILL)
            await workers.wait_for("The worker could not start; trying again")
            load = Load(workers.port, CLIENTS, 4 * CLIENTS)
            await load.stop()
            assert load.failures == []
            assert len(load.answers) == WORKERS - 1
            shutil.copy(SERVER, file)
            await workers.wait_for_all()
            await workers.restart()

    asyncio.run(run())
