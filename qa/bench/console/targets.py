"""How fast the page of the console must be."""

from __future__ import annotations

from qa.bench.console.measure import ConsoleFigures
from qa.bench.targets import Target

__all__ = ["judge_console"]

_MOST_MS = 300.0


def judge_console(figures: ConsoleFigures) -> list[Target]:
    """First paint with 1,000 tools, also beside the Inspector's."""
    ours, peer = figures.pages["dovetail"], figures.pages["Inspector"]
    assert ours.listed is not None
    return [
        Target("first paint, 1,000 tools: 300 ms", ours.paint, _MOST_MS, 1.0, is_ceiling=True),
        Target(
            "all 1,000 tools listed: 300 ms", ours.listed, _MOST_MS, 1.0,
            is_promise=False, is_ceiling=True,
        ),
        Target("first paint: the Inspector", ours.paint, peer.paint, 1.0, is_promise=False),
    ]  # fmt: skip
