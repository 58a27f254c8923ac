"""Current numbers of sessions, calls and streams, for monitoring.

The numbers are computed on request from existing collections, so they add no cost to requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["HttpCounts"]


class HttpCounts(NamedTuple):
    """Current numbers; all return to zero after the clients have disconnected."""

    # Legacy sessions that have not ended or expired.
    sessions: int = 0
    # Requests whose handler is waiting, including open subscriptions. Stateless legacy requests
    # are not counted.
    calls: int = 0
    # SSE streams with a connected client.
    streams: int = 0

    @classmethod
    def total(cls, parts: Iterable[HttpCounts]) -> HttpCounts:
        """The sum of all parts."""
        return cls(*map(sum, zip(*parts, strict=True)))
