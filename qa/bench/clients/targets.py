"""What a call may cost the client."""

from __future__ import annotations

from qa.bench.clients.measure import ClientResults
from qa.bench.messages import ERAS
from qa.bench.targets import Target

__all__ = ["judge_clients"]

_PEERS = (("mcp", "the SDK's client", True), ("fastmcp", "FastMCP's client", False))
_FACTOR = 4.0


def judge_clients(results: ClientResults) -> list[Target]:
    """At most a quarter of the CPU that the SDK's client takes."""
    return [
        Target(
            f"client CPU of a call over HTTP, {era}: {name}",
            results["dovetail", era].best,
            results[peer, era].best,
            _FACTOR,
            is_promise=is_promise,
        )
        for peer, name, is_promise in _PEERS
        for era in ERAS
    ]
