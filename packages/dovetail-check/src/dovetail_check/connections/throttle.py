"""Slows down for servers that limit the rate of requests (RFC 6585 section 4, RFC 9110 10.2.3)."""

from __future__ import annotations

import asyncio
import time
from email.utils import parsedate_to_datetime

from dovetail_check.exchanges import Exchange, is_busy

__all__ = ["Throttle"]

# Seconds to wait if the server does not say how long, and between two requests.
_DEFAULT_DELAY, _MIN_DELAY = 1.0, 0.1
_FIRST_INTERVAL, _MAX_INTERVAL = 0.02, 1.0
# A longer Retry-After is not waited for, and no more than this many seconds in one check.
_MAX_DELAY = 60.0
_MAX_TOTAL = 180.0


class Throttle:
    """The rate of the requests to one server; all its connections share one."""

    def __init__(self) -> None:
        self._interval = 0.0
        self._next = 0.0
        self._waited = 0.0

    async def wait(self) -> None:
        """Wait until the next request may be sent."""
        now = time.monotonic()
        at = max(now, self._next)
        self._next = at + self._interval
        if at > now:
            await asyncio.sleep(at - now)

    def should_retry(self, exchange: Exchange) -> bool:
        """Whether the server was busy and the request should be sent again, after `wait`."""
        if not is_busy(exchange):
            return False
        delay = max(_delay_of(exchange), _MIN_DELAY)
        if delay > _MAX_DELAY or self._waited > _MAX_TOTAL:
            self._interval = 0.0
            return False
        now = time.monotonic()
        # Requests that were in flight together count once.
        if now > self._next - delay / 2:
            self._waited += delay
            self._interval = min(max(2 * self._interval, _FIRST_INTERVAL), _MAX_INTERVAL)
            self._next = now + delay
        return True


def _delay_of(exchange: Exchange) -> float:
    """The seconds that Retry-After names: a number or a date."""
    text = (exchange.header("retry-after") or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return _DEFAULT_DELAY
