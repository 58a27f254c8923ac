"""What we promised ourselves, held against what was measured."""

from __future__ import annotations

import math
from typing import NamedTuple

from qa.bench.measures import Results
from qa.bench.messages import ERAS

__all__ = ["Target", "judge_in_process", "judge_stdio"]


class Target(NamedTuple):
    """One comparison: the peer must be at least `factor` times dearer than we are.

    With `is_ceiling` the other way round: we may be at most `factor` times dearer.
    """

    what: str
    ours: float
    theirs: float
    factor: float
    # A comparison that nobody promised, for orientation.
    is_promise: bool = True
    is_ceiling: bool = False

    @property
    def ratio(self) -> float:
        """How many times dearer the peer is; under a ceiling, how many times dearer we are."""
        return self.ours / self.theirs if self.is_ceiling else self.theirs / self.ours

    @property
    def is_measured(self) -> bool:
        """Not a number stands for a figure that could not be had; it keeps no promise."""
        return not math.isnan(self.ratio)

    @property
    def is_reached(self) -> bool:
        """Whether that is enough."""
        return self.ratio <= self.factor if self.is_ceiling else self.ratio >= self.factor


def judge_stdio(results: Results) -> list[Target]:
    """The targets of a server process on pipes."""
    return [
        *_judge_calls(results),
        *_judge_starts(results),
        *_judge_memory(results),
        *_judge_listing(results),
    ]


def _judge_calls(results: Results) -> list[Target]:
    return [
        Target(
            f"stdio CPU, {_TOOLS[tool]}, {_FLIGHT[in_flight]}, {era}: {name}",
            results.stdio["dovetail", tool, era, in_flight].best,
            results.stdio[peer, tool, era, in_flight].best,
            factor,
            # The promise names no exception: async and def tools, busy and idle servers alike.
            is_promise=peer != "mcp-low",
        )
        for peer, name, factor in _STDIO_PEERS
        for tool in _TOOLS
        for in_flight in (16, 1)
        for era in ERAS
    ]


_TOOLS = {"add": "async tool", "add_sync": "def tool"}
_FLIGHT = {16: "16 in flight", 1: "one at a time"}
_STDIO_PEERS = (
    ("mcp", "1/20 of MCPServer", 20),
    ("mcp-low", "1/20 of the low-level Server", 20),
    ("fastmcp", "1/50 of FastMCP", 50),
)


def judge_in_process(results: Results) -> list[Target]:
    """The targets of calls without a transport."""
    return [
        Target(
            f"handle in process, {kind}: 15 times the rate of MiniMCP",
            results.in_process["dovetail", ours, "legacy"].best,
            results.in_process["minimcp", theirs, "legacy"].best,
            15,
            is_promise=ours == "add",
        )
        for kind, ours, theirs in (
            ("async tool", "add", "add"),
            ("def tool inline in both", "add_inline", "add_sync"),
        )
    ]


def _judge_starts(results: Results) -> list[Target]:
    return [
        Target(
            f"cold start, {what}, {how}, {era}: 1/4 of MCPServer",
            getattr(results.starts[key, era], figure),
            getattr(results.starts["mcp", era], figure),
            4,
        )
        for key, how in (("dovetail run", "dovetail run"), ("dovetail", "python file.py"))
        for what, figure in (("CPU", "best"), ("wall", "best_wall"))
        for era in ERAS
    ]


def _judge_memory(results: Results) -> list[Target]:
    ours, theirs = results.memory["dovetail"], results.memory["mcp"]
    return [
        Target("memory after the first answer: 1/2 of MCPServer", ours.first, theirs.first, 2),
        Target("memory after the calls: 1/2 of MCPServer", ours.later, theirs.later, 2),
    ]


def _judge_listing(results: Results) -> list[Target]:
    return [
        Target(
            f"tools/list of 1,000, {era}: 1/100 of {name}",
            results.listing["dovetail", era].next.best,
            results.listing[peer, era].next.best,
            100,
            is_promise=peer == "mcp",
        )
        for peer, name in (("mcp", "MCPServer"), ("mcp-low", "the low-level Server"))
        for era in ERAS
    ]
