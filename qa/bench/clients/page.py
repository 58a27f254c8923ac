"""The section of the page on clients."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.clients.measure import CALLERS, ClientResults
from qa.bench.messages import ERAS
from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target

__all__ = ["render_clients"]


def render_clients(results: ClientResults, told: str, targets: Sequence[Target]) -> str:
    """The figures, and whether they are what was promised."""
    rows = [
        [f"{caller.title}, {era}", *(f"{1e6 * seconds:,.0f} µs" for seconds in (best, wall))]
        for caller in CALLERS
        for era in ERAS
        for best, wall in [(results[caller.key, era].best, min(results[caller.key, era].wall))]
    ]
    parts = [
        circumstances(told),
        table(["client", "CPU per call", "time per call"], rows),
        render_targets(targets),
    ]
    return "\n\n".join(parts)
