"""Timestamps: integers in microseconds since 1970 internally, ISO 8601 in UTC for clients.

Every transaction has its own microsecond, so a timestamp that a client received identifies exactly
one state of the graph.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dovetail import ToolError

__all__ = [
    "ANY_TIME",
    "EARLIEST",
    "EVER",
    "FOREVER",
    "Span",
    "View",
    "clock",
    "find_gaps",
    "format_timestamp",
    "parse_timestamp",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The range of datetime: years 1 to 9999. The ends mean "unbounded".
EARLIEST = -62_135_596_800_000_000
FOREVER = 253_402_300_799_999_999


@dataclass(frozen=True, slots=True)
class Span:
    """A period of time: start inclusive, end exclusive."""

    start: int = EARLIEST
    end: int = FOREVER

    def __contains__(self, moment: int) -> bool:
        return self.start <= moment < self.end


@dataclass(frozen=True, slots=True)
class View:
    """A point on both time axes: valid time, and recorded time (None: the current record)."""

    # None: any valid time, in the current record.
    valid: int | None
    recorded: int | None = None
    # With any valid time: include deleted facts.
    deleted: bool = False

    def moment(self, now: int) -> int:
        """Return the valid time, or now if it is any."""
        return now if self.valid is None else self.valid


ANY_TIME = View(None)
EVER = View(None, deleted=True)


def find_gaps(spans: Iterable[Span], span: Span) -> list[Span]:
    """Return the parts of a span that the others do not cover."""
    gaps, start = [], span.start
    for one in sorted(spans, key=lambda one: (one.start, one.end)):
        if one.start >= span.end:
            break
        if one.start > start:
            gaps.append(Span(start, one.start))
        start = max(start, one.end)
    if start < span.end:
        gaps.append(Span(start, span.end))
    return gaps


def clock() -> int:
    """Return the current time in microseconds."""
    return time.time_ns() // 1000


def parse_timestamp(given: str | float | None, name: str) -> int | None:
    """Parse an ISO 8601 date or date-time, milliseconds since 1970, or the string "now"."""
    if given is None:
        return None
    if isinstance(given, int | float):
        return _check(given * 1000 if math.isfinite(given) else math.inf, given, name)
    if given == "now":
        return clock()
    try:
        parsed = datetime.fromisoformat(given)
        if parsed.tzinfo is None:
            parsed = parsed.replace(tzinfo=UTC)
        return _check((parsed - _EPOCH) // timedelta(microseconds=1), given, name)
    except (ValueError, OverflowError):
        raise _invalid(given, name) from None


def _check(timestamp: float, given: str | float, name: str) -> int:
    if not EARLIEST <= timestamp <= FOREVER:
        raise _invalid(given, name)
    return round(timestamp)


def _invalid(given: str | float, name: str) -> ToolError:
    return ToolError(
        f"{name} must be a time like 2025-01-31, 2025-01-31T09:00:00Z, milliseconds since 1970 or "
        f"'now', in the years 1 to 9999; got {str(given)[:50]!r}"
    )


def format_timestamp(timestamp: int) -> str | None:
    """Return the timestamp as ISO 8601, or None if it is unbounded."""
    if timestamp <= EARLIEST or timestamp >= FOREVER:
        return None
    parsed = _EPOCH + timedelta(microseconds=timestamp)
    return parsed.isoformat(timespec="microseconds").replace("+00:00", "Z")
