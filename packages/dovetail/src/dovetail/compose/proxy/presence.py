"""`Presence`: whether an upstream can be reached; the log says when that changes."""

from __future__ import annotations

import logging
from collections.abc import Callable

__all__ = ["Presence"]

logger: logging.Logger = logging.getLogger("dovetail")


class Presence:
    """What is known about one upstream from the requests that it answered or did not answer."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_unavailable: bool = False
        self.reason: str = ""
        # Called after each change of `is_unavailable`.
        self.on_change: list[Callable[[], None]] = []

    def lost(self, error: Exception) -> None:
        """Take note that the upstream could not be reached."""
        self.reason = str(error) or type(error).__name__
        if not self.is_unavailable:
            logger.warning("the upstream server %r is unavailable: %s", self._name, self.reason)
            self._set(is_unavailable=True)

    def found(self) -> None:
        """Take note that the upstream answered."""
        if self.is_unavailable:
            # A warning like the message that it is unavailable, so that the same logs show both.
            logger.warning("the upstream server %r is back", self._name)
            self._set(is_unavailable=False)

    def _set(self, *, is_unavailable: bool) -> None:
        self.is_unavailable = is_unavailable
        for react in tuple(self.on_change):
            react()
