"""What we promised ourselves over HTTP, held against what was measured."""

from __future__ import annotations

import math
from itertools import product

from qa.bench.messages import ERAS, Era
from qa.bench.over_http.field import SERVED
from qa.bench.over_http.measure import CONNECTIONS, HttpResults
from qa.bench.targets import Target

__all__ = ["judge_http"]

_SHARE_OF_BARE = 0.85
_SLACK_OF_P99 = 1.3
# Peer, how it is called, factor, eras, whether it was promised.
_PEERS: tuple[tuple[str, str, float, tuple[Era, ...], bool], ...] = (
    ("mcp", "MCPServer", 4, ("modern",), True),
    ("mcp", "MCPServer", 6, ("legacy",), True),
    ("fastmcp", "FastMCP", 14, ERAS, True),
    ("minimcp", "MiniMCP", 3.3, ("legacy",), True),
    ("mcp-low", "the low-level Server", 4, ("modern",), False),
    ("mcp-low", "the low-level Server", 6, ("legacy",), False),
)


def judge_http(results: HttpResults) -> list[Target]:
    """Every target, with the figures that decide it."""
    return [
        *_judge_bare(results),
        *_judge_peers(results),
        *_judge_p99(results),
    ]


def _judge_bare(results: HttpResults) -> list[Target]:
    return [
        Target(
            f"HTTP rate, {served}, {connections} connections, {era}: {_SHARE_OF_BARE} of the bare "
            "app",
            1 / max(results.by_round(who, era, connections, "rate"), default=math.nan),
            1,
            _SHARE_OF_BARE,
        )
        for who, served in SERVED
        for era in ERAS
        for connections in CONNECTIONS
    ]


def _judge_peers(results: HttpResults) -> list[Target]:
    targets = []
    for peer, name, factor, eras, is_promise in _PEERS:
        for our, served in SERVED:
            for era, connections in product(eras, CONNECTIONS):
                ours, theirs = (
                    results.best_undisturbed_rate(
                        results.fastest(who, era, connections), connections
                    )
                    for who in (our, peer)
                )
                what = (
                    f"HTTP rate, {served}, {connections} connections, {era}: {factor:g} times "
                    f"{name}"
                )
                targets.append(Target(what, 1 / ours, 1 / theirs, factor, is_promise))
    return targets


def _judge_p99(results: HttpResults) -> list[Target]:
    return [
        Target(
            f"HTTP p99, {served}, {connections} connections, {era}: 30 % above the bare app",
            min(results.by_round(who, era, connections, "p99"), default=math.nan),
            1,
            _SLACK_OF_P99,
            is_ceiling=True,
        )
        for who, served in SERVED
        for era in ERAS
        for connections in CONNECTIONS
    ]
