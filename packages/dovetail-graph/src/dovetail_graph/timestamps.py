"""Moments: microseconds since 1970 inside, ISO 8601 in UTC outside.

Microseconds, because every transaction has a moment of its own, and a moment that was shown must
lead back to exactly the state it was shown for.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dovetail import ToolError

__all__ = ["FOREVER", "LONG_AGO", "Span", "View", "clock", "read_moment", "show_moment"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The years that ISO 8601 and datetime can show; beyond them a moment is "always".
LONG_AGO = -62_135_596_800_000_000
FOREVER = 253_402_300_799_999_999


@dataclass(frozen=True, slots=True)
class Span:
    """From a moment, inclusive, to another, exclusive."""

    start: int = LONG_AGO
    end: int = FOREVER


@dataclass(frozen=True, slots=True)
class View:
    """What was true at one moment as it was recorded at another; None: as recorded now."""

    valid: int
    recorded: int | None = None


def clock() -> int:
    """The time of day."""
    return time.time_ns() // 1000


def read_moment(given: str | float | None, name: str) -> int | None:
    """A date, a date and time, milliseconds since 1970, or the word now."""
    if given is None:
        return None
    if isinstance(given, int | float):
        return _check(given * 1000 if math.isfinite(given) else math.inf, given, name)
    if given == "now":
        return clock()
    try:
        moment = datetime.fromisoformat(given)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return _check((moment - _EPOCH) // timedelta(microseconds=1), given, name)
    except (ValueError, OverflowError):
        raise _refusal(given, name) from None


def _check(moment: float, given: str | float, name: str) -> int:
    if not LONG_AGO <= moment <= FOREVER:
        raise _refusal(given, name)
    return round(moment)


def _refusal(given: str | float, name: str) -> ToolError:
    return ToolError(
        f"{name} must be a time like 2025-01-31, 2025-01-31T09:00:00Z, milliseconds since 1970 or "
        f"'now', in the years 1 to 9999; got {str(given)[:50]!r}"
    )


def show_moment(moment: int) -> str | None:
    """The moment as text; None for the ends of time."""
    if moment <= LONG_AGO or moment >= FOREVER:
        return None
    shown = _EPOCH + timedelta(microseconds=moment)
    return shown.isoformat(timespec="microseconds").replace("+00:00", "Z")
