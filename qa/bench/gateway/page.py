"""The section of the page on gateways."""

from __future__ import annotations

import math
from collections.abc import Sequence

from qa.bench.gateway.field import GATEWAYS, Gateway
from qa.bench.gateway.measure import IN_FLIGHT, GatewayResults
from qa.bench.targets import Target

__all__ = ["render_gateways"]


def render_gateways(results: GatewayResults, told: str, targets: Sequence[Target]) -> str:
    """The figures, and whether they are what was promised."""
    rows = []
    for gateway in GATEWAYS:
        one, many = (results.figures[gateway, in_flight] for in_flight in IN_FLIGHT)
        slow = "no answer" if math.isnan(many.p50) else f"{many.p50 * 1e3:.1f} ms"
        rows.append(
            f"| {gateway.title} | {gateway.era} | {one.p50 * 1e3:.2f} ms | {slow} "
            f"| {_cpu(results, gateway, 1)} | {_cpu(results, gateway, 16)} |"
        )
    added_by_mount = (results.mounted - results.direct) * 1e6
    reached = sum(target.is_reached for target in targets)
    return "\n".join(
        [
            f"{told} of calls of an addition over HTTP; CPU is that of the gateway and of the "
            "server behind it. mcp-proxy reaches the server over stdio, the others over HTTP.",
            "",
            "| gateway | client | p50, 1 in flight | p50, 16 | CPU (added), 1 | CPU (added), 16 |",
            "|---|---|--:|--:|--:|--:|",
            *rows,
            "",
            f"In process a call takes {results.direct * 1e6:.1f} µs of CPU, and "
            f"{results.mounted * 1e6:.1f} µs where the server is mounted: {added_by_mount:.1f} µs "
            "more.",
            "",
            "Limits: at most 300 µs of CPU added in each pairing of eras with one call in flight, "
            "p50 at most 1 ms with one and 8 ms with sixteen, and at most 2 µs for a mount: "
            f"{reached} of {len(targets)} kept. With one call in flight the processes wait most of "
            "the time, and waking them is a large part of the CPU.",
        ]
    )


def _cpu(results: GatewayResults, gateway: Gateway, in_flight: int) -> str:
    cpu = results.figures[gateway, in_flight].cpu
    if math.isnan(cpu):
        return ""
    added = results.added(gateway, in_flight) * 1e6
    return f"{cpu * 1e6:.0f} µs" + ("" if gateway.command is None else f" ({added:.0f})")
