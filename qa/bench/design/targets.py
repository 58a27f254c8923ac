"""What we promised ourselves of the design server."""

from __future__ import annotations

from qa.bench.design.measure import DesignResults
from qa.bench.targets import Target

__all__ = ["judge_design"]

_TIMES_DIRECT = 1.5


def judge_design(results: DesignResults) -> list[Target]:
    """A drawing costs little more than the same one without elements, checks and versions."""
    return [
        Target(f"{what}: drawn directly", ours, direct, _TIMES_DIRECT, is_ceiling=True)
        for what, (ours, direct) in results.drawings.items()
    ]
