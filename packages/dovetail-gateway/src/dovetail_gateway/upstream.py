"""`Upstream`: the connections to one upstream, opened on demand and replaced when they break.

A modern upstream is stateless, so callers share a connection. A legacy upstream has a session:
each principal gets its own, and clients that can be asked different things get different ones. On
stdio, where a question does not say which call it belongs to, a connection serves one caller at a
time.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from dovetail.client import Channel
from dovetail.client.negotiation import Mode, parse_mode
from dovetail.core.principal import Principal, owner_of
from dovetail.errors import AccessDeniedError, DovetailError, LimitError, PeerError, TransportError
from dovetail.net.background import BackgroundTasks
from dovetail.net.backoff import backoff
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from dovetail_gateway.connection import UpstreamConnection
from dovetail_gateway.envelopes import HOPS
from dovetail_gateway.failures import UpstreamError, UpstreamUnavailableError, explain

__all__ = [
    "Presence",
    "ProxyCaller",
    "Upstream",
    "UpstreamSettings",
]

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


# Seconds between two attempts to connect: the first after a failure, and the longest.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
# Seconds that a call waits for an upstream that was lost or could not be reached before: within a
# second, callers are answered or told that it is unavailable.
_PATIENCE = 0.9

# Requests that opening takes: a legacy server may not answer the first one at all.
_OPENING_STEPS = 3

MakeChannel = Callable[[Principal | None], Coroutine[Any, Any, Callable[[], Channel]]]
_OPENING_ERRORS = (DovetailError, TimeoutError)


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """How to reach an upstream."""

    name: str
    make_channel: MakeChannel
    # Name and version of the proxy, as the upstream sees it.
    client: tuple[str, str]
    mode: str = "auto"
    # Over HTTP, messages arrive in the response to the request that they belong to.
    is_http: bool = False
    # Callers have credentials of their own.
    per_principal: bool = False
    # Seconds to connect in, and to wait for a free connection.
    timeout: float = 10.0
    max_connections: int = 32


class ProxyCaller(NamedTuple):
    """Who makes a call, and what it can be asked for."""

    principal: Principal | None
    # The client's connection or session; a call of its own for clients that have neither.
    key: object
    declared: dict[str, Any]
    # The proxies that the request has passed.
    hops: int = 0


class _Slot(NamedTuple):
    """Callers of one slot can share a connection."""

    owner: str | None
    declared: bytes


class Upstream:
    """Opens, shares, replaces and closes connections to one upstream."""

    def __init__(
        self,
        settings: UpstreamSettings,
        on_open: Callable[[UpstreamConnection], None],
        on_notification: Callable[[Notification], None],
    ) -> None:
        self.name: str = settings.name
        self.presence: Presence = Presence(settings.name)
        self._settings = settings
        self._mode = self._asked_mode = parse_mode(settings.mode)
        self._on_open = on_open
        self._on_notification = on_notification
        self._is_legacy: bool | None = None
        self._open: dict[_Slot, list[UpstreamConnection]] = {}
        self._opening: dict[_Slot, asyncio.Task[UpstreamConnection]] = {}
        self._released = asyncio.Event()
        self._closing = BackgroundTasks()
        # The pauses between attempts to connect, while they fail.
        self._pauses: Iterator[float] | None = None
        self._is_lost = False
        self._not_before = 0.0

    @property
    def is_per_principal(self) -> bool:
        """Whether callers have credentials of their own."""
        return self._settings.per_principal

    @property
    def timeout(self) -> float:
        """Seconds to connect in."""
        return self._settings.timeout

    @property
    def is_opening(self) -> bool:
        """Whether a connection is being opened."""
        return bool(self._opening)

    def take_loss(self) -> bool:
        """Return whether a connection broke since the last time this was asked."""
        is_lost, self._is_lost = self._is_lost, False
        return is_lost

    async def acquire(self, caller: ProxyCaller) -> UpstreamConnection:
        """Return a connection for one call; raises UpstreamError if the upstream is unavailable."""
        while True:
            # The slot depends on the era, which the first connection finds out.
            slot = self._slot_of(caller)
            found = self._find(slot, caller.key)
            if found is not None:
                return found
            if slot not in self._opening:
                await self._make_room()
                if slot not in self._opening:
                    self._opening[slot] = self._start(self._connect(slot, caller))
            await self._wait_for(self._opening[slot])

    async def probe(self) -> None:
        """Send a request that changes nothing, so that `presence` is up to date."""
        try:
            connection = await self.acquire(ProxyCaller(None, None, {}))
        except DovetailError:
            return
        try:
            method = "ping" if connection.is_legacy else "server/discover"
            await connection.era.request(method, timeout=self._settings.timeout)
        except (TransportError, TimeoutError) as error:
            self.presence.lost(error)
        except DovetailError:
            self.presence.found()
        else:
            self.presence.found()
        finally:
            self.release()

    def release(self) -> None:
        """Wake calls that wait for a connection."""
        self._released.set()

    def discard(self, connection: UpstreamConnection) -> None:
        """Use a connection no more, and close it."""
        for slot, connections in tuple(self._open.items()):
            if connection in connections:
                connections.remove(connection)
                if not connections:
                    del self._open[slot]
        self._closing.start(connection.close())
        self._released.set()

    async def close(self) -> None:
        """Close every connection."""
        for opening in tuple(self._opening.values()):
            opening.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for connections in tuple(self._open.values()):
            for connection in tuple(connections):
                self.discard(connection)
        await self._closing.drain(self._settings.timeout)
        await self._closing.close()

    def _slot_of(self, caller: ProxyCaller) -> _Slot:
        owner = owner_of(caller.principal)
        if self._is_legacy is False:
            return _Slot(owner if self._settings.per_principal else None, b"")
        return _Slot(owner, codec.encode_canonical(caller.declared))

    def _find(self, slot: _Slot, key: object) -> UpstreamConnection | None:
        free: UpstreamConnection | None = None
        for connection in tuple(self._open.get(slot, ())):
            if not connection.is_open:
                self._is_lost = True
                self.discard(connection)
            elif connection.is_free_for(key):
                if connection.last_caller is key:
                    return connection
                free = free or connection
        return free

    async def _make_room(self) -> None:
        """Close an idle connection or wait for one if there are too many."""
        while (
            sum(map(len, self._open.values())) + len(self._opening)
            >= self._settings.max_connections
        ):
            idle = [c for connections in self._open.values() for c in connections if c.is_idle]
            if idle:
                self.discard(idle[0])
                return
            self._released.clear()
            try:
                async with asyncio.timeout(self._settings.timeout):
                    await self._released.wait()
            except TimeoutError:
                raise LimitError(
                    f"All connections to the upstream server {self.name!r} are in use "
                    f"({self._settings.max_connections}). Try again later."
                ) from None

    async def _wait_for(self, opening: asyncio.Task[UpstreamConnection]) -> None:
        """Wait until a connection is open; not for long if the upstream was lost."""
        if not (self._pauses is not None or self._is_lost or self.presence.is_unavailable):
            await asyncio.shield(opening)
            return
        await asyncio.wait([opening], timeout=_PATIENCE)
        if not opening.done():
            raise UpstreamUnavailableError(self.name, self.presence.reason)
        opening.result()

    def _start(
        self, work: Coroutine[Any, Any, UpstreamConnection]
    ) -> asyncio.Task[UpstreamConnection]:
        # In a context of its own: a connection outlives the call that needed it first.
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        # Everybody who waited may have been cancelled.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _connect(self, slot: _Slot, caller: ProxyCaller) -> UpstreamConnection:
        try:
            if time.monotonic() < self._not_before:
                raise UpstreamUnavailableError(self.name, self.presence.reason)
            connection = await self._try_to_connect(caller)
        except AccessDeniedError as error:
            # It concerns this caller only.
            raise explain(self.name, error) from None
        except _OPENING_ERRORS as error:
            if isinstance(error, UpstreamError):
                raise
            self._failed(error)
            raise explain(self.name, error) from None
        finally:
            del self._opening[slot]
        self._pauses = None
        self.presence.found()
        self._is_legacy = connection.is_legacy
        # Reconnecting is faster if the era is known.
        self._mode = Mode(not connection.is_legacy, connection.is_legacy, self._asked_mode.revision)
        self._open.setdefault(self._slot_of(caller), []).append(connection)
        connection.last_caller = caller.key
        self._on_open(connection)
        return connection

    async def _try_to_connect(self, caller: ProxyCaller) -> UpstreamConnection:
        make_channel = await self._settings.make_channel(caller.principal)
        try:
            return await self._connect_at(self._mode, make_channel, caller)
        except (PeerError, TransportError, TimeoutError):
            if self._mode == self._asked_mode:
                raise
            # It may speak another era since it was restarted.
            self._mode, self._is_legacy = self._asked_mode, None
            return await self._connect_at(self._mode, make_channel, caller)

    async def _connect_at(
        self, mode: Mode, make_channel: Callable[[], Channel], caller: ProxyCaller
    ) -> UpstreamConnection:
        async with asyncio.timeout(self._settings.timeout * _OPENING_STEPS):
            return await UpstreamConnection.open(
                make_channel,
                mode,
                client=self._settings.client,
                declared=caller.declared,
                meta={HOPS: caller.hops + 1},
                timeout=self._settings.timeout,
                on_notification=self._on_notification,
                has_response_per_request=self._settings.is_http,
            )

    def _failed(self, error: Exception) -> None:
        if self._pauses is None:
            self._pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._not_before = time.monotonic() + next(self._pauses)
        self.presence.lost(error)
