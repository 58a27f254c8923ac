"""One line of the result: what was tried, what was wanted, what came out."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Effort", "Verdict"]


class Verdict(NamedTuple):
    """A figure, and whether it will do; None where nobody promised anything."""

    what: str
    wanted: str
    measured: str
    is_reached: bool | None = None


class Effort(NamedTuple):
    """How much to do."""

    connections: int
    calls_per_connection: int
    sessions: int
    peer_sessions: int
    requests: int
    seconds_per_burst: int
    streams: int
    seconds_of_killing: float
