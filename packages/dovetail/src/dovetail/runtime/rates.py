"""Rate limits: token buckets, which allow a burst and then a steady rate."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from time import monotonic

from dovetail.errors import UsageError

__all__ = ["Bucket", "Rate"]

# A client sends several requests for one call, which must not exceed 100/min.
_LEAST_BURST = 10.0
_RATE = re.compile(r"(?P<number>\d+(?:\.\d+)?)/(?P<unit>s|min|h)(?: burst (?P<burst>\d+))?")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
# Tolerates rounding errors, so that a caller who waited long enough is accepted.
_WHOLE = 1 - 1e-9
_UNITS = {1.0: "second", 60.0: "minute", 3600.0: "hour"}


def _default_burst(number: float, per: float) -> float:
    """The calls of one second, or ten of a slower rate, but never more than `number`."""
    return max(1.0, min(number, max(_LEAST_BURST, number / per)))


class Rate:
    """`number` calls per `per` seconds, with a burst: `Rate(10)`, `Rate(60, per=60)`."""

    __slots__ = ("burst", "number", "per")

    def __init__(self, number: float, *, per: float = 1.0, burst: float | None = None) -> None:
        if not (0 < number < math.inf and 0 < per < math.inf):
            raise UsageError(
                f"A rate needs a number and a period above 0, got {number} per {per} seconds"
            )
        self.number: float = number
        self.per: float = per
        self.burst: float = _default_burst(number, per) if burst is None else burst
        if not 1 <= self.burst < math.inf:
            raise UsageError(f"A burst must be at least 1, got {burst}")

    @classmethod
    def parse(cls, text: str) -> Rate:
        """Parse `10/s`, `60/min` or `100/h burst 20`; raises UsageError."""
        match = _RATE.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"A rate looks like 10/s, 60/min or 100/h burst 20, got {text!r}")
        burst = match["burst"]
        per = _SECONDS[match["unit"]]
        return cls(float(match["number"]), per=per, burst=None if burst is None else float(burst))

    @property
    def per_second(self) -> float:
        """Calls per second."""
        return self.number / self.per

    def __str__(self) -> str:
        unit = _UNITS.get(self.per, f"{self.per:g} seconds")
        return f"{self.number:g} per {unit}"

    def __repr__(self) -> str:
        return f"Rate({self.number:g}, per={self.per:g}, burst={self.burst:g})"


class Bucket:
    """A token bucket: refills at a rate, up to the burst; each call takes one token."""

    __slots__ = ("_clock", "_level", "_seen", "rate")

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic) -> None:
        self.rate: Rate = rate
        self._clock = clock
        self._level = rate.burst
        self._seen = clock()

    def wait(self) -> float:
        """Seconds until a token is available; 0 if there is one now."""
        now = self._clock()
        rate = self.rate
        level = self._level + (now - self._seen) * rate.number / rate.per
        self._level = level if level < rate.burst else rate.burst
        self._seen = now
        return 0.0 if self._level >= _WHOLE else (1 - self._level) * rate.per / rate.number

    def take(self) -> None:
        """Take one token; call `wait` first."""
        self._level -= 1

    @property
    def is_full(self) -> bool:
        """Whether the bucket is full, like a new one."""
        return self.wait() == 0 and self._level >= self.rate.burst
