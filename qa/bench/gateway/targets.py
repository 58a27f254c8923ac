"""What the proxy may cost."""

from __future__ import annotations

from qa.bench.gateway.field import GATEWAYS
from qa.bench.gateway.measure import GatewayResults
from qa.bench.targets import Target

__all__ = ["judge_gateways"]

_MOST_ADDED = 300e-6
_MOST_ADDED_BY_MOUNT = 2e-6
_MOST_P50 = {1: 1e-3, 16: 8e-3}


def judge_gateways(results: GatewayResults) -> list[Target]:
    """The proxy in each pairing of eras, and a mount."""
    ceilings = [("CPU that a mount adds", results.mounted - results.direct, _MOST_ADDED_BY_MOUNT)]
    for ours in (each for each in GATEWAYS if each.title.startswith("dovetail")):
        pairing = f"{ours.era} client, {ours.upstream} server"
        ceilings += [
            (f"CPU that the proxy adds, {pairing}", results.added(ours), _MOST_ADDED),
            *(
                (f"p50, {in_flight} in flight, {pairing}", figures, most)
                for in_flight, most in _MOST_P50.items()
                for figures in [results.figures[ours, in_flight].p50]
            ),
        ]
    return [
        Target(what, found, most, 1.0, is_promise=True, is_ceiling=True)
        for what, found, most in ceilings
    ]
