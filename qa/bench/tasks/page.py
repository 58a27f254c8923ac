"""The section of the page on tasks."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.targets import Target
from qa.bench.tasks.measure import TaskResults, Turn

__all__ = ["render_tasks"]


def render_tasks(results: TaskResults, told: str, targets: Sequence[Target]) -> str:
    """The figures, and whether they are what was promised."""
    reached = sum(target.is_reached for target in targets if target.is_promise)
    promised = sum(target.is_promise for target in targets)
    return "\n".join(
        [
            f"{told}; {results.tasks:,} tasks that do nothing, one after another, and "
            f"{results.parked:,} that ask and wait. In one process, without a transport: what the "
            "client writes and reads is included in the CPU.",
            "",
            "| task store | create and finish, CPU | query, CPU | waiting task, memory "
            "| in the file |",
            "|---|---|---|---|---|",
            _row("in memory", results.memory),
            _row("in an SQLite file", results.file),
            "",
            f"At most 8,192 bytes for a waiting task: {reached} of {promised} targets met.",
        ]
    )


def _row(name: str, turn: Turn) -> str:
    kept = f"{turn.row_bytes:,.0f} B" if turn.row_bytes else "-"
    return (
        f"| {name} | {turn.create_us:,.0f} µs | {turn.poll_us:,.0f} µs "
        f"| {turn.parked_bytes:,.0f} B | {kept} |"
    )
