"""A row of the results."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Effort", "Verdict"]


class Verdict(NamedTuple):
    """A measurement; `is_reached` is None if there is no target."""

    what: str
    wanted: str
    measured: str
    is_reached: bool | None = None


class Effort(NamedTuple):
    """The size of a run."""

    connections: int
    calls_per_connection: int
    sessions: int
    peer_sessions: int
    requests: int
    seconds_per_burst: int
    streams: int
    seconds_of_killing: float
    shutdowns: int
