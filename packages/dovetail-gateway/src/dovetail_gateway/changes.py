"""Changes at the upstream: subscribes there for all callers, and announces changes to them.

Equal changes in quick succession are announced once. A subscription that is lost, because the
upstream was restarted, is opened again, and everything it covers is announced as changed.

In a cluster, every process that hears of a change tells the others, whose clients may want it
while they are not connected to the upstream. What several processes report of one change is
announced once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from dovetail.client import Change, Interest
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import DovetailError, RpcError, TransportError
from dovetail.net.background import BackgroundTasks
from dovetail.net.backoff import backoff
from dovetail.runtime.processes import Processes
from dovetail.wire import codec
from dovetail_gateway.connection import UpstreamConnection, UpstreamFeed
from dovetail_gateway.upstream import ProxyCaller, Upstream

__all__ = ["ChangeRelay"]

logger: logging.Logger = logging.getLogger("dovetail")

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
# The source of changes that this process hears of itself.
_HERE = ""


class _ChangeMessage(Struct, array_like=True):
    kind: Literal["tools", "prompts", "resources", "resource"]
    uri: str | None


@dataclass(eq=False, slots=True)
class _Window:
    """A change that has been announced, who reported it since, and who reported it again."""

    sources: set[str]
    timer: asyncio.TimerHandle
    repeated: set[str] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class _Watched:
    """What is subscribed to on one connection."""

    connection: UpstreamConnection
    # The callers that watch each resource.
    uris: dict[str, dict[object, ProxyCaller]] = field(default_factory=dict)
    feed: UpstreamFeed | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class ChangeRelay:
    """Keeps subscriptions at an upstream and publishes their changes."""

    def __init__(self, upstream: Upstream, publish: Callable[[ChangeEvent], None]) -> None:
        self._upstream = upstream
        self._publish = publish
        self._watched: dict[UpstreamConnection, _Watched] = {}
        self._tasks = BackgroundTasks()
        self._windows: dict[ChangeEvent, _Window] = {}
        self._tell: Callable[[bytes], None] | None = None
        self._closed = False

    def join(self, processes: Processes, topic: str) -> None:
        """Tell the other processes of a cluster, and take what they tell."""
        topic = f"{topic}:change"
        self._tell = partial(processes.publish, topic)
        processes.on_message(topic, self._changed_elsewhere)

    def attach(self, connection: UpstreamConnection) -> None:
        """Subscribe to the lists of a new connection."""
        if self._find_lists(connection) != Interest():
            self._tasks.start(self._try_to_open(self._state_of(connection)))

    async def watch(self, caller: ProxyCaller, uri: str) -> None:
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
        for window in self._windows.values():
            window.timer.cancel()
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
                feed = UpstreamFeed(watched.connection, interest, self._changed, self._lost)
                await era.open_feed(feed)
                watched.feed = feed
            if previous is not None:
                await era.close_feed(previous)

    def _lost(self, feed: UpstreamFeed) -> None:
        for watched in tuple(self._watched.values()):
            if watched.feed is feed and not self._closed:
                watched.feed = None
                self._tasks.start(self._restore(watched))

    async def _restore(self, watched: _Watched) -> None:
        """Open a lost subscription again, on another connection if this one is closed."""
        pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        while not self._closed:
            await asyncio.sleep(next(pauses))
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
        """Announce that every list may have changed, in this process."""
        for name in _LISTS:
            self._take(ChangeEvent(_KINDS[name], None, is_local=True), _HERE, tells=False)

    def _changed(self, change: Change) -> None:
        self._take(ChangeEvent(_KINDS[change.kind], change.uri, is_local=True), _HERE)

    def _changed_elsewhere(self, node: str, message: bytes) -> None:
        told = codec.decode_as(_ChangeMessage, message)
        self._take(ChangeEvent(_KINDS[told.kind], told.uri, is_local=True), node)

    def _take(self, event: ChangeEvent, source: str, *, tells: bool = True) -> None:
        """Announce a change unless it was announced a moment ago; then later, if it is another."""
        if self._closed:
            return
        window = self._windows.get(event)
        if window is None:
            self._announce_now(event, {source}, tells=tells and source == _HERE)
        elif source in window.sources:
            window.repeated.add(source)
        else:
            # Another process reports the same change.
            window.sources.add(source)

    def _announce_now(self, event: ChangeEvent, sources: set[str], *, tells: bool) -> None:
        self._publish(event)
        if tells and self._tell is not None:
            self._tell(codec.encode(_ChangeMessage(_NAMES[event.what], event.uri)))
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_WINDOW, self._after_window, event)
        self._windows[event] = _Window(sources, timer)

    def _after_window(self, event: ChangeEvent) -> None:
        again = self._windows.pop(event).repeated
        if again and not self._closed:
            self._announce_now(event, again, tells=_HERE in again)


_NAMES: dict[ChangeKind, Any] = {kind: name for name, kind in _KINDS.items()}
