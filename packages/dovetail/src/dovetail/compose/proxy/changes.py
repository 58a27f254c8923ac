"""Changes at the upstream: subscribes there for all callers, and announces changes to them.

Equal changes in quick succession are announced once. A subscription that is lost, because the
upstream was restarted, is opened again, and everything it covers is announced as changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from dovetail.client.background import BackgroundTasks
from dovetail.client.subscriptions import Change, Interest
from dovetail.compose.proxy.connection import Feed, UpstreamConnection
from dovetail.compose.proxy.upstream import Caller, Upstream
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import DovetailError, RpcError, TransportError

__all__ = ["ChangeRelay"]

logger = logging.getLogger("dovetail")

# Seconds between two equal announcements.
_WINDOW = 1.0
# Seconds between attempts to open a lost subscription again: the first and the longest.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_KINDS = {
    "tools": ChangeKind.TOOLS,
    "prompts": ChangeKind.PROMPTS,
    "resources": ChangeKind.RESOURCES,
    "resource": ChangeKind.RESOURCE,
}
_LISTS = ("tools", "prompts", "resources")


@dataclass(eq=False, slots=True)
class _Watched:
    """What is subscribed to on one connection."""

    connection: UpstreamConnection
    # The callers that watch each resource.
    uris: dict[str, dict[object, Caller]] = field(default_factory=dict)
    feed: Feed | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ChangeRelay:
    """Keeps subscriptions at an upstream and publishes their changes."""

    def __init__(self, upstream: Upstream, publish: Callable[[ChangeEvent], None]) -> None:
        self._upstream = upstream
        self._publish = publish
        self._watched: dict[UpstreamConnection, _Watched] = {}
        self._tasks = BackgroundTasks()
        self._timers: dict[ChangeEvent, asyncio.TimerHandle] = {}
        self._again: set[ChangeEvent] = set()
        self._closed = False

    def attach(self, connection: UpstreamConnection) -> None:
        """Subscribe to the lists of a new connection."""
        if self._find_lists(connection) != Interest():
            self._tasks.start(self._try_to_open(self._state_of(connection)))

    async def watch(self, caller: Caller, uri: str) -> None:
        """Subscribe to a resource for a caller; raises what the upstream answers."""
        connection = await self._upstream.acquire(caller)
        watched = self._state_of(connection)
        callers = watched.uris.setdefault(uri, {})
        is_new = not callers
        callers[caller.key] = caller
        if is_new:
            try:
                await self._open(watched)
            except BaseException:
                watched.uris.pop(uri, None)
                raise

    async def unwatch(self, key: object, uri: str | None = None) -> None:
        """End the subscription of a caller to a resource, or all its subscriptions."""
        for watched in tuple(self._watched.values()):
            ended = []
            for each in tuple(watched.uris) if uri is None else (uri,):
                callers = watched.uris.get(each, {})
                if callers.pop(key, None) is not None and not callers:
                    del watched.uris[each]
                    ended.append(each)
            if ended:
                await self._try_to_open(watched)

    def drop(self, key: object) -> None:
        """Like `unwatch`, for a caller that has gone without saying so."""
        if not self._closed and any(
            key in callers for each in self._watched.values() for callers in each.uris.values()
        ):
            self._tasks.start(self.unwatch(key))

    async def close(self) -> None:
        """Stop announcing changes."""
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        await self._tasks.close()

    # -- subscriptions ------------------------------------------------------------------------

    def _state_of(self, connection: UpstreamConnection) -> _Watched:
        watched = self._watched.get(connection)
        if watched is None:
            watched = self._watched[connection] = _Watched(connection)
        return watched

    def _find_lists(self, connection: UpstreamConnection) -> Interest:
        has = connection.era.has_capability
        tools, prompts, resources = (has(name, "listChanged") for name in _LISTS)
        return Interest(tools, prompts, resources)

    async def _try_to_open(self, watched: _Watched) -> None:
        try:
            await self._open(watched)
        except (DovetailError, TimeoutError) as error:
            logger.warning(
                "no changes of the upstream server %r are announced: %s", self._upstream.name, error
            )

    async def _open(self, watched: _Watched) -> None:
        """Open a subscription to everything that is watched now, then close the previous one."""
        async with watched.lock:
            previous, era = watched.feed, watched.connection.era
            lists = self._find_lists(watched.connection)
            interest = Interest(lists.tools, lists.prompts, lists.resources, tuple(watched.uris))
            watched.feed = None
            if interest != Interest():
                feed = Feed(watched.connection, interest, self._changed, self._lost)
                await era.open_feed(feed)
                watched.feed = feed
            if previous is not None:
                await era.close_feed(previous)

    def _lost(self, feed: Feed) -> None:
        for watched in tuple(self._watched.values()):
            if watched.feed is feed and not self._closed:
                watched.feed = None
                self._tasks.start(self._restore(watched))

    async def _restore(self, watched: _Watched) -> None:
        """Open a lost subscription again, on another connection if this one is closed."""
        pause = _FIRST_PAUSE
        while not self._closed:
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            try:
                if watched.connection.is_open:
                    await self._open(watched)
                    self._upstream.presence.found()
                    self._announce(watched)
                    return
                # Lists are watched by the next connection, which the next call opens.
                self._watched.pop(watched.connection, None)
                for uri, callers in tuple(watched.uris.items()):
                    for caller in tuple(callers.values()):
                        await self.watch(caller, uri)
                        self._changed(Change("resource", uri))
                return
            except RpcError:
                return
            except TransportError as error:
                self._upstream.presence.lost(error)
            except (DovetailError, TimeoutError) as error:
                logger.info("the upstream server %r: %s", self._upstream.name, error)

    def _announce(self, watched: _Watched) -> None:
        lists = self._find_lists(watched.connection)
        for name in _LISTS:
            if getattr(lists, name):
                self._changed(Change(name))  # type: ignore[arg-type]
        for uri in watched.uris:
            self._changed(Change("resource", uri))

    # -- announcing ---------------------------------------------------------------------------

    def announce_lists(self) -> None:
        """Announce that every list may have changed."""
        for name in _LISTS:
            self._changed(Change(name))  # type: ignore[arg-type]

    def _changed(self, change: Change) -> None:
        event = ChangeEvent(_KINDS[change.kind], change.uri)
        if self._closed:
            return
        if event in self._timers:
            self._again.add(event)
            return
        self._publish(event)
        loop = asyncio.get_running_loop()
        self._timers[event] = loop.call_later(_WINDOW, self._after_window, event)

    def _after_window(self, event: ChangeEvent) -> None:
        del self._timers[event]
        if event in self._again:
            self._again.discard(event)
            self._changed(Change(_NAMES[event.what], event.uri))  # type: ignore[arg-type]


_NAMES = {kind: name for name, kind in _KINDS.items()}
