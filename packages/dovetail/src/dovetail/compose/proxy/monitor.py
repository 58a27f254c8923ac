"""`Monitor`: connects to an upstream at start, and again while it is unavailable.

Because it notices when the upstream is back, lists need not wait for an upstream that cannot be
reached or does not answer; they would keep those of other upstreams waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dovetail.compose.proxy.failures import UpstreamUnavailableError
from dovetail.compose.proxy.upstream import Upstream
from dovetail.net.background import BackgroundTasks
from dovetail.net.backoff import backoff

__all__ = ["Monitor"]

# Seconds between two attempts: the first, and the longest.
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 15.0


class Monitor:
    """Finds out whether an upstream is there before somebody calls it."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._tasks = BackgroundTasks()
        self._is_trying = False

    def start(self) -> None:
        """Connect in the background."""
        self._upstream.presence.on_change.append(self._react)
        self._tasks.start(self._upstream.probe())

    async def close(self) -> None:
        """Stop all attempts."""
        self._upstream.presence.on_change.remove(self._react)
        await self._tasks.close()

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Limit the time of a list; raises UpstreamUnavailableError, at once if that is known."""
        presence, seconds = self._upstream.presence, self._upstream.timeout
        if presence.is_unavailable:
            raise UpstreamUnavailableError(self._upstream.name, presence.reason)
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            presence.lost(TimeoutError(f"no answer to a list within {seconds:g} s"))
            raise UpstreamUnavailableError(self._upstream.name, presence.reason) from None

    def _react(self) -> None:
        if self._upstream.presence.is_unavailable and not self._is_trying:
            self._is_trying = True
            self._tasks.start(self._try_again())

    async def _try_again(self) -> None:
        pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        try:
            while self._upstream.presence.is_unavailable:
                await asyncio.sleep(next(pauses))
                await self._upstream.probe()
        finally:
            self._is_trying = False
