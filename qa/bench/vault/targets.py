"""What we promised ourselves of the notes server."""

from __future__ import annotations

import statistics

from qa.bench.targets import Target
from qa.bench.vault.measure import Figures

__all__ = ["judge_vault"]

_TIMES_RIPGREP = 20
_NOTES_PER_SECOND = 2_000
_GROWTH_OF_P99 = 4
_MEGABYTES = 200


def judge_vault(small: Figures, large: Figures) -> list[Target]:
    """Every target, with the figures that decide it."""
    ours = statistics.median(large.quantile(0.5, name) for name in large.ripgrep)
    theirs = statistics.median(large.ripgrep.values())
    return [
        Target(f"ranked search, {large.notes:,} notes: ripgrep", ours, theirs, _TIMES_RIPGREP),
        *(
            Target(
                f"{name}, {large.notes:,} notes: ripgrep",
                large.quantile(0.5, name),
                spent,
                _TIMES_RIPGREP,
                is_promise=False,
            )
            for name, spent in large.ripgrep.items()
        ),
        Target(
            f"p99 of all searches, {large.notes:,} notes over {small.notes:,}",
            large.quantile(0.99),
            small.quantile(0.99),
            _GROWTH_OF_P99,
            is_ceiling=True,
        ),
        Target(
            f"index, {large.notes:,} notes: {_NOTES_PER_SECOND:,} a second",
            1 / large.rate,
            1 / _NOTES_PER_SECOND,
            1,
        ),
        Target(
            f"resident memory, {large.notes:,} notes: {_MEGABYTES} MB",
            large.memory_most,
            _MEGABYTES,
            1,
            is_ceiling=True,
        ),
    ]
