"""Faults of Redis: the time until everything works again."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from qa.cluster.effort import PROCESSES, SHOP, Effort
from qa.soak.verdicts import Verdict
from tests.cluster.faults import FAULTS, PREPARE, Fault, inflict, until_shared, with_login
from tests.cluster.processes import running_cluster
from tests.cluster.redis_server import RedisServer, running_redis
from tests.cluster.wire import call

__all__ = ["measure_faults"]

# Seconds until everything works again.
_MOST = 1.0


async def measure_faults(effort: Effort, folder: Path) -> list[Verdict]:
    """Inflict each fault on one cluster, one after the other."""
    verdicts = []
    with running_redis(folder / "redis") as redis:
        inflict(redis, PREPARE)
        with running_cluster(SHOP, with_login(redis), folder, count=PROCESSES) as cluster:
            for fault in FAULTS:
                await _all_shared(cluster.ports)
                failed, seconds = await _suffer(fault, redis, cluster.ports, effort.pause)
                verdicts += [
                    Verdict(
                        f"Redis {fault}: failed calls that need no shared state",
                        "0",
                        str(failed),
                        failed == 0,
                    ),
                    Verdict(
                        f"Redis {fault}: until everything works again",
                        f"<= {_MOST:.0f} s",
                        f"{seconds:.2f} s",
                        seconds <= _MOST,
                    ),
                ]
    return verdicts


async def _suffer(
    fault: Fault, redis: RedisServer, ports: list[int], pause: float
) -> tuple[int, float]:
    """Failed calls, and seconds from the end of the fault until all is shared again."""
    await asyncio.to_thread(inflict, redis, fault.begin)
    failed = 0
    if fault.end:
        deadline = time.monotonic() + pause
        while time.monotonic() < deadline:
            answers = await asyncio.gather(*(call(port, "add", a=1, b=2) for port in ports))
            failed += sum(answer.status != 200 for answer in answers)
            await asyncio.sleep(0.05)
    await asyncio.to_thread(inflict, redis, fault.end)
    began = time.monotonic()
    await _all_shared(ports)
    return failed, time.monotonic() - began


async def _all_shared(ports: list[int]) -> None:
    await asyncio.gather(
        *(until_shared(port, ports[(index + 1) % len(ports)]) for index, port in enumerate(ports))
    )
