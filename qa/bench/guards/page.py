"""The section of the page on guards."""

from __future__ import annotations

from collections.abc import Sequence

from qa.bench.guards.measure import GuardResults
from qa.bench.targets import Target

__all__ = ["render_guards"]

_NAMES = {
    "none": "no guard",
    "open": "a guard that asks for nothing",
    "key": "API key",
    "rate": "rate limits (each caller, all callers)",
    "audit": "audit log (a file, digests of arguments)",
    "key, rate, audit": "API key, rate limits and audit log",
    "jwt": "access token (JWT, found good before)",
    "jwt, rate, audit": "access token, rate limits and audit log",
}


def render_guards(results: GuardResults, told: str, targets: Sequence[Target]) -> str:
    """The figures, and whether they are what was promised."""
    reached = sum(target.is_reached for target in targets)
    rows = [
        f"| {name} | {results.cpu[way]:.1f} µs | {results.added(way):.1f} µs |"
        for way, name in _NAMES.items()
    ]
    return "\n".join(
        [
            f"{told} of {results.calls:,} calls of an addition over HTTP at 2026-07-28, without "
            "the socket.",
            "",
            "| guard | CPU of a call | added |",
            "|---|---|---|",
            *rows,
            "",
            "At most 15 µs for key, rates and audit, and 25 µs for an access token: "
            f"{reached} of {len(targets)} targets met.",
            "",
            "The time of a rejection must not reveal what was wrong with a key. Two keys that do "
            "not exist show the usual difference, and no other difference may be much larger.",
            "",
            "| rejected key | CPU of the rejection |",
            "|---|---|",
            *(f"| {name} | {cpu:.2f} µs |" for name, cpu in results.refused.items()),
        ]
    )
