"""Delivers the changes of a server to one client.

Changes may be published from any thread; they are delivered on the client's event loop. Equal
changes within one turn of the loop are delivered once, so registering a hundred tools makes one
notification.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from dovetail.core.changes import ChangeEvent
from dovetail.stores.bus import Bus

__all__ = ["ChangeFeed"]


class ChangeFeed:
    """The subscription of one client; must be created on its event loop."""

    __slots__ = ("_deliver", "_loop", "_pending", "_thread", "_unsubscribe", "_wants")

    def __init__(
        self,
        bus: Bus[ChangeEvent],
        wants: Callable[[ChangeEvent], bool],
        deliver: Callable[[ChangeEvent], None],
    ) -> None:
        """`wants` is asked on the publishing thread: most changes of tasks concern others."""
        self._wants = wants
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._pending: dict[ChangeEvent, None] = {}
        self._unsubscribe = bus.subscribe(self._publish)

    def close(self) -> None:
        """Deliver no more."""
        self._unsubscribe()
        self._pending.clear()

    def _publish(self, change: ChangeEvent) -> None:
        if self._loop.is_closed():
            # The loop ended without closing its clients; the publisher is not to blame.
            self._unsubscribe()
        elif self._wants(change):
            if threading.get_ident() == self._thread:
                self._add(change)
            else:
                self._loop.call_soon_threadsafe(self._add, change)

    def _add(self, change: ChangeEvent) -> None:
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending[change] = None

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        for change in pending:
            self._deliver(change)
