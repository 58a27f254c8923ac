"""One rate limit over all processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from qa.cluster.effort import PROCESSES, Effort
from qa.cluster.rate_limits import measure_exactness
from qa.soak.verdicts import Verdict
from tests.cluster.redis_server import running_redis

__all__ = ["measure_rates"]

_MOST = 2.0
_PER_SECOND = 200.0


async def measure_rates(effort: Effort, folder: Path) -> list[Verdict]:
    """Make more calls in several processes than the limit allows, and count what passes."""
    with running_redis(folder / "redis") as redis:
        found = await asyncio.to_thread(
            measure_exactness,
            redis.url,
            processes=PROCESSES,
            rate=_PER_SECOND,
            seconds=effort.rate_seconds,
        )
    return [
        Verdict(
            f"{_PER_SECOND:g} calls a second over {PROCESSES} processes, {found.offered:,} made: "
            "passed",
            f"{found.allowed:,.0f} +- 2 %",
            f"{found.passed:,} ({found.error:+.2f} %)",
            abs(found.error) <= _MOST,
        )
    ]
