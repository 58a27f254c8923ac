"""How often: token buckets, which allow a burst and then a steady rate."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from time import monotonic

from dovetail.errors import UsageError

__all__ = ["Bucket", "Rate"]

_SPELLED = re.compile(r"(?P<number>\d+(?:\.\d+)?)/(?P<unit>s|min|h)(?: burst (?P<burst>\d+))?")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
# Sums of small times fall short by less than this, and who has waited long enough must get in.
_WHOLE = 1 - 1e-9
_UNITS = {1.0: "second", 60.0: "minute", 3600.0: "hour"}


class Rate:
    """So many calls in so many seconds, so many at once: `Rate(10)`, `Rate(60, per=60)`."""

    __slots__ = ("burst", "number", "per")

    def __init__(self, number: float, *, per: float = 1.0, burst: float | None = None) -> None:
        if not (0 < number < math.inf and 0 < per < math.inf):
            raise UsageError(
                f"a rate is a number above 0 in seconds above 0, got {number} in {per}"
            )
        self.number = number
        self.per = per
        # One second's worth, and at least one call.
        self.burst = max(1.0, number / per) if burst is None else burst
        if not 1 <= self.burst < math.inf:
            raise UsageError(f"a burst is at least 1, got {burst}")

    @classmethod
    def parse(cls, text: str) -> Rate:
        """From `10/s`, `60/min`, `100/h burst 20`; raises UsageError."""
        match = _SPELLED.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"a rate is like 10/s, 60/min or 100/h burst 20, got {text!r}")
        burst = match["burst"]
        per = _SECONDS[match["unit"]]
        return cls(float(match["number"]), per=per, burst=None if burst is None else float(burst))

    @property
    def per_second(self) -> float:
        """Calls in a second."""
        return self.number / self.per

    def __str__(self) -> str:
        unit = _UNITS.get(self.per, f"{self.per:g} seconds")
        return f"{self.number:g} per {unit}"

    def __repr__(self) -> str:
        return f"Rate({self.number:g}, per={self.per:g}, burst={self.burst:g})"


class Bucket:
    """Fills at a rate, up to the burst; each call takes one out."""

    __slots__ = ("_clock", "_level", "_seen", "rate")

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._level = rate.burst
        self._seen = clock()

    def wait(self) -> float:
        """Seconds until there is one to take; 0 if there is one now."""
        now = self._clock()
        rate = self.rate
        level = self._level + (now - self._seen) * rate.number / rate.per
        self._level = level if level < rate.burst else rate.burst
        self._seen = now
        return 0.0 if self._level >= _WHOLE else (1 - self._level) * rate.per / rate.number

    def take(self) -> None:
        """Take one out; ask `wait` first."""
        self._level -= 1

    @property
    def is_full(self) -> bool:
        """Whether nobody has taken anything out for long: as good as a new one."""
        return self.wait() == 0 and self._level >= self.rate.burst
