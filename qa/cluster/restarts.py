"""A rolling restart of all workers under load."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from qa.cluster.effort import PROCESSES, SHOP, Effort
from qa.cluster.load import run_load
from qa.soak.verdicts import Verdict
from tests.cluster.processes import ClusterProcess, free_port
from tests.cluster.redis_server import running_redis
from tests.cluster.shop import STATE_KEY

__all__ = ["measure_restarts"]

_BURST_SECONDS = 10
_RESTART_SECONDS = 4.0


async def measure_restarts(effort: Effort, folder: Path) -> list[Verdict]:
    """SIGHUP to the supervisor again and again while calls come in."""
    with running_redis(folder / "redis") as redis:
        words = (SHOP, "--workers", str(PROCESSES), "--cluster", redis.url)
        env = {"CLUSTER_URL": redis.url, "DOVETAIL_STATE_KEYS": STATE_KEY.hex()}
        process = ClusterProcess(folder / "supervisor.log", free_port(), words, env)
        try:
            await asyncio.to_thread(process.wait_until_serving)
            return await _restart(process, effort, folder)
        finally:
            process.stop()


async def _restart(process: ClusterProcess, effort: Effort, folder: Path) -> list[Verdict]:
    requests = failed = restarts = 0

    async def replace() -> None:
        nonlocal restarts
        while True:
            await asyncio.sleep(_RESTART_SECONDS)
            process.popen.send_signal(signal.SIGHUP)
            restarts += 1

    restarting = asyncio.create_task(replace())
    while requests < effort.requests:
        load = await run_load(process.url, folder, _BURST_SECONDS)
        requests += load.requests
        failed += load.refused + load.broken
    restarting.cancel()
    what = f"{requests:,} requests, {restarts} rolling restarts of {PROCESSES} workers"
    return [Verdict(f"{what}: failed", "0", str(failed), failed == 0)]
