"""What we promised ourselves of the memory server."""

from __future__ import annotations

import statistics

from qa.bench.graph.measure import SEARCHES, Figures, Side
from qa.bench.targets import Target

__all__ = ["judge_graph"]

_FACTOR = 20
_GROWTH = 3
_CHARACTERS = 20_000
# One entity a call, and a hundred: a batch shares the one rewriting of the reference's file.
_WRITES = ("create one", "create a hundred")


def judge_graph(small: Figures, middle: Figures, large: Figures) -> list[Target]:
    """Every target, with the figures that decide it."""
    at = f"{middle.size:,} entities"
    return [
        Target(f"search, {at}: the reference", *_both(middle, tuple(SEARCHES)), _FACTOR),
        *(
            Target(f"write, {what}, {at}: the reference", *_both(middle, (what,)), _FACTOR)
            for what in _WRITES
        ),
        *(
            Target(
                f"{what}, {at}: the reference",
                *_both(middle, (what,)),
                _FACTOR,
                is_promise=False,
            )
            for what in (*SEARCHES, "open ten", "read_graph")
        ),
        *(
            Target(
                f"{name}, {large.size:,} entities over {middle.size:,}",
                _median(large.ours, whats),
                _median(middle.ours, whats),
                _GROWTH,
                is_ceiling=True,
            )
            for name, whats in (
                ("search", tuple(SEARCHES)),
                ("walk of three steps", ("walk three steps",)),
            )
        ),
        *(
            Target(
                f"longest answer, {each.size:,} entities: {_CHARACTERS:,} characters",
                max(each.ours.longest.values()),
                _CHARACTERS,
                1,
                is_ceiling=True,
            )
            for each in (small, middle, large)
        ),
    ]


def _both(figures: Figures, whats: tuple[str, ...]) -> tuple[float, float]:
    return _median(figures.ours, whats), _median(figures.theirs, whats)


def _median(side: Side, whats: tuple[str, ...]) -> float:
    """Of several kinds of calls: the mean of their medians, so that none hides."""
    return statistics.mean(side.median(what) for what in whats)
