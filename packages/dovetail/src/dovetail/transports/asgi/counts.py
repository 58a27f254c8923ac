"""What an application holds for its clients at this moment, in numbers.

Nothing is counted while requests are served: each number is the length of something that is
held in any case, looked at when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["HttpCounts"]


class HttpCounts(NamedTuple):
    """How much is held for clients now; all of it goes back to zero when they are gone."""

    # Sessions of the legacy era, until they end or their lifetime is over.
    sessions: int = 0
    # Requests whose function has begun and waits for something; an open subscription is one.
    # Those of legacy clients are known by their session only.
    calls: int = 0
    # Streams of events that a connection carries.
    streams: int = 0

    @classmethod
    def total(cls, parts: Iterable[HttpCounts]) -> HttpCounts:
        """Everything together."""
        return cls(*map(sum, zip(*parts, strict=True)))
