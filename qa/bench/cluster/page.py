"""The section of the page on clusters."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.cluster.measure import ClusterResults
from qa.bench.targets import Target

__all__ = ["render_cluster"]

# Way -> what it is called, and the way it is compared with.
_NAMES = {
    "modern": ("2026-07-28, one process", None),
    "modern, cluster": ("2026-07-28, in a cluster", "modern"),
    "modern, limits": ("2026-07-28 with a rate limit, one process", None),
    "modern, limits, cluster": ("2026-07-28 with a rate limit, in a cluster", "modern, limits"),
    "legacy": ("2025-11-25, one process", None),
    "legacy, known session": ("2025-11-25, in a cluster, the process knows the session", "legacy"),
    "legacy, one at a time": ("2025-11-25, one process, one call at a time", None),
    "legacy, processes in turn": (
        "2025-11-25, in a cluster, one call at a time, each at another process than the last",
        "legacy, one at a time",
    ),
    "legacy, first call": (
        "2025-11-25, in a cluster, one call at a time, the first of its session at this process",
        "legacy, one at a time",
    ),
}


def render_cluster(results: ClusterResults, told: str, targets: Sequence[Target]) -> str:
    """The figures, and whether they are what was promised."""
    reached = sum(target.is_reached for target in targets)
    rows = [
        f"| {name} | {results.cpu[way]:.1f} µs | "
        f"{'' if base is None else f'{results.added(way, base):.1f} µs'} |"
        for way, (name, base) in _NAMES.items()
    ]
    one, two = results.workers[1], results.workers[2]
    return "\n".join(
        [
            f"{told}. Additions over HTTP, 32 in flight for each process, or "
            f"{results.calls:,} one at a time; CPU of all processes that serve.",
            "",
            "| call | CPU of a call | added |",
            "|---|---|---|",
            *rows,
            "",
            f"A call takes {one:.1f} µs with one worker and {two:.1f} µs with two; the busier one "
            f"has {100 * results.spread:.0f} % more than the mean. A process without calls takes "
            f"{results.idle / 1000:.1f} ms of CPU per second.",
            "",
            f"{reached} of {len(targets)} targets reached.",
        ]
    )
