"""What guards may cost."""

from __future__ import annotations

from qa.bench.guards.measure import GuardResults
from qa.bench.targets import Target

__all__ = ["judge_guards"]

_MOST = {"key, rate, audit": 15.0, "jwt": 25.0}


def judge_guards(results: GuardResults) -> list[Target]:
    """A guard must not cost more than the call it guards is worth."""
    return [
        Target(
            f"microseconds that {way} add to a call",
            results.added(way),
            most,
            1.0,
            is_promise=True,
            is_ceiling=True,
        )
        for way, most in _MOST.items()
    ]
