"""What tasks may cost."""

from __future__ import annotations

from qa.bench.targets import Target
from qa.bench.tasks.measure import TaskResults

__all__ = ["judge_tasks"]

_MOST_BYTES = 8192


def judge_tasks(results: TaskResults) -> list[Target]:
    """Ten thousand that wait for their users must not fill the memory."""
    return [
        Target(
            f"bytes of a task that waits for its client, {where}",
            turn.parked_bytes,
            _MOST_BYTES,
            1.0,
            is_ceiling=True,
        )
        for where, turn in (("in memory", results.memory), ("in a file", results.file))
    ]
