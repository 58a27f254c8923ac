"""Progress of a running request (basic/utilities/progress, basic/patterns/progress).

Values only increase, and nothing is sent after the response. The rate is limited: fifty
notifications at once, then fifty a second, and always the last one (progress = total).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from dovetail.core.call import Call
from dovetail.spec.models import ProgressParams
from dovetail.wire import codec

__all__ = ["ProgressReporter"]

_BURST = 50.0
_PER_SECOND = 50.0


class ProgressReporter:
    """Sends the progress of one call."""

    __slots__ = ("_allowance", "_call", "_clock", "_last", "_seen")

    def __init__(self, call: Call, clock: Callable[[], float] = time.monotonic) -> None:
        self._call = call
        self._clock = clock
        self._last: float | None = None
        self._allowance = _BURST
        self._seen = clock()

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Notify the client, if it sent a progress token."""
        call = self._call
        if call.on_activity is not None:
            call.on_activity()
        if call.detached is not None:
            call.detached.progressed(done, total, message)
        token = call.progress_token
        # JSON has no NaN or Infinity; the client would get null.
        if token is None or not math.isfinite(done):
            return
        if total is not None and not math.isfinite(total):
            total = None
        # progress.increasing (2025-11-25 basic/utilities/progress): each value above the last
        if self._last is not None and done <= self._last:
            return
        if not self._take() and done != total:
            return
        self._last = done
        known = call.era.revision.progress_message
        params = ProgressParams(
            progress_token=token,
            progress=done,
            total=total,
            message=message if known else None,
        )
        call.notify("notifications/progress", codec.encode(params))

    def _take(self) -> bool:
        # progress.rate-limit (2025-11-25 basic/utilities/progress): a token bucket
        now = self._clock()
        self._allowance = min(_BURST, self._allowance + (now - self._seen) * _PER_SECOND)
        self._seen = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True
