"""Delivers the changes of a server to one client.

Changes may be published from any thread; they are delivered on the client's event loop. Equal
changes within one turn of the loop are delivered once, so registering a hundred tools makes one
notification.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import DovetailError
from dovetail.runtime.bus import Bus

__all__ = ["ChangeFeed"]


class ChangeFeed:
    """The subscription of one client; must be created on its event loop."""

    __slots__ = (
        "_deliver",
        "_loading",
        "_loop",
        "_pending",
        "_thread",
        "_unsubscribe",
        "_uris",
        "_wants",
    )

    def __init__(
        self,
        bus: Bus[ChangeEvent],
        wants: Callable[[ChangeEvent], bool],
        deliver: Callable[[ChangeEvent], None],
        uris: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`wants` is asked on the publishing thread: most changes of tasks concern others.

        `uris` returns the resources that the client has subscribed to.
        """
        self._wants = wants
        self._uris = uris
        self._deliver = deliver
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._pending: dict[ChangeEvent, None] = {}
        self._loading: set[asyncio.Task[None]] = set()
        self._unsubscribe = bus.subscribe(self._publish)

    def close(self) -> None:
        """Deliver no more."""
        self._unsubscribe()
        self._pending.clear()
        for loading in self._loading:
            loading.cancel()

    def _publish(self, change: ChangeEvent) -> None:
        if self._loop.is_closed():
            # The loop ended without closing its clients; the publisher is not to blame.
            self._unsubscribe()
        elif self._wants(change) or _is_any_resource(change):
            if threading.get_ident() == self._thread:
                self._add(change)
            else:
                self._loop.call_soon_threadsafe(self._add, change)

    def _add(self, change: ChangeEvent) -> None:
        if change.load is not None:
            loading = self._loop.create_task(self._load(change))
            self._loading.add(loading)
            loading.add_done_callback(self._loading.discard)
            return
        if _is_any_resource(change):
            for uri in tuple(self._uris()):
                self._add(change._replace(uri=uri))
            return
        if not self._pending:
            self._loop.call_soon(self._flush)
        self._pending[change] = None

    async def _load(self, change: ChangeEvent) -> None:
        assert change.load is not None and change.item is not None
        # If the store cannot be read now, the client finds out when it asks for the item.
        with contextlib.suppress(DovetailError):
            item = await change.load()
            # Otherwise it has changed again, and that change is published too.
            if item.updated == change.item.updated:
                self._add(change._replace(item=item, load=None))

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        for change in pending:
            self._deliver(change)


def _is_any_resource(change: ChangeEvent) -> bool:
    return change.what is ChangeKind.RESOURCE and change.uri is None
