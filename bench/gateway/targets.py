"""What the proxy may cost."""

from __future__ import annotations

from bench.gateway.field import GATEWAYS
from bench.gateway.measure import GatewayResults
from bench.targets import Target

__all__ = ["judge_gateways"]

_MOST_ADDED = 300e-6
_MOST_P50 = {1: 1e-3, 16: 8e-3}


def judge_gateways(results: GatewayResults) -> list[Target]:
    """The proxy between two modern sides."""
    [ours] = [
        each
        for each in GATEWAYS
        if each.title.startswith("dovetail") and (each.era, each.upstream) == ("modern",) * 2
    ]
    ceilings = [
        ("CPU that the proxy adds to a call", results.added(ours), _MOST_ADDED),
        *(
            (f"p50 with {in_flight} in flight", results.figures[ours, in_flight].p50, most)
            for in_flight, most in _MOST_P50.items()
        ),
    ]
    return [
        Target(what, found, most, 1.0, is_promise=True, is_ceiling=True)
        for what, found, most in ceilings
    ]
