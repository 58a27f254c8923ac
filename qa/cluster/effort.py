"""The size of a run, and what all parts use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.cluster import shop
from tests.cluster.processes import ProcessCluster, running_cluster
from tests.cluster.redis_server import running_redis

__all__ = ["PROCESSES", "SHOP", "Effort", "percentile", "running_shop"]

PROCESSES = 4
SHOP = f"{shop.__file__}:server"


class Effort(NamedTuple):
    """How much to measure."""

    # Questions of each kind.
    questions: int
    # Streams, each with one disconnect.
    streams: int
    events_per_stream: int
    listeners: int
    # Seconds for which Redis is paused.
    pause: float
    kills: int
    tasks: int
    requests: int
    rate_seconds: int


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that this percentage of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@contextmanager
def running_shop(folder: Path) -> Iterator[ProcessCluster]:
    """Redis, the processes, and haproxy in front of them."""
    with (
        running_redis(folder / "redis") as redis,
        running_cluster(SHOP, redis.url, folder, count=PROCESSES) as cluster,
    ):
        yield cluster
