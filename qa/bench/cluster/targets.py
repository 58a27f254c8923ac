"""What a cluster may cost."""

from __future__ import annotations

from qa.bench.cluster.measure import ClusterResults
from qa.bench.targets import Target

__all__ = ["judge_cluster"]

# Way, the way without it, and the microseconds it may add. A call with nothing shared may cost
# nothing; two microseconds are what two equal processes differ by.
_MOST = (
    ("modern, cluster", "modern", 2.0),
    ("modern, limits, cluster", "modern, limits", 80.0),
    ("legacy, known session", "legacy", 5.0),
    ("legacy, processes in turn", "legacy, one at a time", 80.0),
)


def judge_cluster(results: ClusterResults) -> list[Target]:
    """What is shared may cost a round trip to Redis, what is not may cost nothing."""
    return [
        *(
            Target(
                f"microseconds that a call costs more: {way}",
                results.added(way, base),
                most,
                1.0,
                is_ceiling=True,
            )
            for way, base, most in _MOST
        ),
        Target(
            "CPU per call with two workers",
            results.workers[2],
            results.workers[1],
            1.1,
            is_ceiling=True,
        ),
    ]
