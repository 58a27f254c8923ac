"""`Upstream`: the connections to one upstream, opened on demand and replaced when they break.

A modern upstream is stateless, so callers share a connection. A legacy upstream has a session:
each principal gets its own, and clients that can be asked different things get different ones. On
stdio, where a question does not say which call it belongs to, a connection serves one caller at a
time.

Where callers have credentials of their own, a connection belongs to the whole principal with its
scopes and claims, because the credentials may depend on all of them. It is used no longer than the
token of the principal is valid and its credentials are what they were.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

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

T = TypeVar("T")

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

# Seconds after which the credentials of a principal are asked for again.
_CREDENTIAL_SECONDS = 60.0
# Seconds that a token is accepted after its `exp`, as guards do by default.
_LEEWAY = 60.0

# Seconds in which the call that opened a connection takes it; after that, others may close it.
_FIRST_USE_SECONDS = 1.0

# Seconds in which an upstream can end by itself when the proxy ends, which itself has a time limit.
_CLOSE_SECONDS = 0.3

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

    # Whose share of the connections it counts against; None for anonymous callers, and for all.
    owner: str | None
    # A digest of the whole principal, if callers have credentials of their own.
    principal: bytes
    declared: bytes


def _digest(principal: Principal | None) -> bytes:
    """Return a digest of everything that credentials may depend on."""
    if principal is None:
        return b""
    claims = {str(name): repr(value) for name, value in principal.claims.items()}
    whole = (principal.id, sorted(principal.scopes), claims, principal.trusted)
    return hashlib.sha256(codec.encode_canonical(whole)).digest()


def _valid_until(principal: Principal | None) -> float:
    """Return the Unix time until which the token of a principal is accepted."""
    expires = None if principal is None else principal.claims.get("exp")
    if not isinstance(expires, int | float) or isinstance(expires, bool):
        return math.inf
    return expires + _LEEWAY


class _Waiting(NamedTuple):
    """A call that waits for a connection."""

    owner: str | None
    woken: asyncio.Future[None]


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
        self._waiting: list[_Waiting] = []
        self._has_principals = False
        # The running request for each connection that asks whether the upstream answers again.
        self._pings: dict[UpstreamConnection, asyncio.Task[None]] = {}
        self._expiries: dict[UpstreamConnection, asyncio.TimerHandle] = {}
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
        connection = await self._take(caller)
        if not self.presence.is_unavailable:
            return connection
        await asyncio.wait([self._ping(connection)], timeout=_PATIENCE)
        if self.presence.is_unavailable:
            raise UpstreamUnavailableError(self.name, self.presence.reason)
        # Another call may have taken it meanwhile.
        return await self._take(caller)

    async def _take(self, caller: ProxyCaller) -> UpstreamConnection:
        """Return a connection, of which it is not known whether the upstream answers on it."""
        self._has_principals = self._has_principals or caller.principal is not None
        while True:
            if self.is_per_principal and time.time() >= _valid_until(caller.principal):
                raise explain(self.name, AccessDeniedError("the token of the caller has expired"))
            # The slot depends on the era, which the first connection finds out.
            slot = self._slot_of(caller)
            found = self._find(slot, caller.key)
            if found is not None:
                if not self._should_check(found):
                    found.is_taken = True
                    return found
                await self._check_credentials(found, caller.principal)
            elif slot in self._opening:
                await self._wait_for(self._opening[slot])
            elif self._has_room(slot.owner):
                self._opening[slot] = self._start(self._connect(slot, caller))
                await self._wait_for(self._opening[slot])
            else:
                await self._wait_for_turn(slot.owner)

    async def probe(self) -> None:
        """Send a request that changes nothing, so that `presence` is up to date."""
        try:
            connection = await self._take(ProxyCaller(None, None, {}))
        except DovetailError:
            return
        try:
            await asyncio.wait([self._ping(connection)])
        finally:
            self.release()

    def _ping(self, connection: UpstreamConnection) -> asyncio.Task[None]:
        """Return the task of a request that changes nothing; one at a time for a connection."""

        async def ping() -> None:
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
                del self._pings[connection]

        if connection not in self._pings:
            self._pings[connection] = self._start(ping())
        return self._pings[connection]

    def release(self) -> None:
        """Let calls continue that wait for a connection."""
        for connection in self._connections():
            if connection.is_retired and connection.is_idle:
                self._close_later(connection)
        counts = self._count_by_owner()
        # Who has the fewest connections goes first, and then who has waited longest.
        for waiting in sorted(self._waiting, key=lambda each: counts.get(each.owner, 0)):
            if not waiting.woken.done():
                waiting.woken.set_result(None)

    def discard(self, connection: UpstreamConnection) -> None:
        """Use a connection no more, and close it."""
        self._close_later(connection)
        self.release()

    def _close_later(self, connection: UpstreamConnection) -> None:
        for slot, connections in tuple(self._open.items()):
            if connection in connections:
                connections.remove(connection)
                if not connections:
                    del self._open[slot]
        expiry = self._expiries.pop(connection, None)
        if expiry is not None:
            expiry.cancel()
        self._closing.start(connection.close())

    def _retire(self, connection: UpstreamConnection) -> None:
        """Use a connection for no more calls, and close it after those in flight."""
        connection.is_retired = True
        self.release()

    async def close(self) -> None:
        """Close every connection."""
        starting = (*self._opening.values(), *self._pings.values())
        for task in starting:
            task.cancel()
        for connection in self._connections():
            self.discard(connection)
        if starting:
            await asyncio.wait(starting, timeout=_CLOSE_SECONDS)
        await self._closing.drain(_CLOSE_SECONDS)
        # What has not ended yet is ended now: a process of an upstream is killed.
        for task in starting:
            task.cancel()
        await asyncio.gather(*starting, return_exceptions=True)
        await self._closing.close()

    # -- finding a connection -----------------------------------------------------------------

    def _slot_of(self, caller: ProxyCaller) -> _Slot:
        owner, principal = owner_of(caller.principal), b""
        if self.is_per_principal:
            principal = _digest(caller.principal)
        if self._is_legacy is False:
            return _Slot(owner if self.is_per_principal else None, principal, b"")
        return _Slot(owner, principal, codec.encode_canonical(caller.declared))

    def _find(self, slot: _Slot, key: object) -> UpstreamConnection | None:
        free: UpstreamConnection | None = None
        for connection in tuple(self._open.get(slot, ())):
            if not connection.is_open:
                self._is_lost = True
                self.discard(connection)
            elif not connection.is_retired and connection.is_free_for(key):
                if connection.last_caller is key:
                    return connection
                free = free or connection
        return free

    def _should_check(self, connection: UpstreamConnection) -> bool:
        age = time.monotonic() - connection.checked_at
        return self.is_per_principal and age >= _CREDENTIAL_SECONDS

    async def _check_credentials(
        self, connection: UpstreamConnection, principal: Principal | None
    ) -> None:
        """Stop using a connection if the credentials of its principal are others now.

        If they cannot be had, they have been withdrawn: its calls end, and the error is raised.
        """
        connection.checked_at = time.monotonic()
        try:
            current = await self._settings.make_channel(principal)
        except Exception:
            self.discard(connection)
            raise
        if current != connection.make_channel:
            self._retire(connection)

    # -- the number of connections ------------------------------------------------------------

    def _connections(self) -> list[UpstreamConnection]:
        return [each for connections in self._open.values() for each in connections]

    def _count_by_owner(self) -> Counter[str | None]:
        counts = Counter(slot.owner for slot in self._opening)
        for slot, connections in self._open.items():
            counts[slot.owner] += len(connections)
        return counts

    def _has_room(self, owner: str | None) -> bool:
        """Whether a connection may be opened; closes an idle one if there are too many."""
        counts, limit = self._count_by_owner(), self._settings.max_connections
        # One principal cannot take the connections of all. Without a guard there are no others.
        share = max(1, limit // 2) if self._has_principals else limit
        if counts[owner] >= share:
            idle = [(slot, each) for slot, each in self._idle() if slot.owner == owner]
        elif counts.total() >= limit:
            idle = self._idle()
        else:
            return True
        if not idle:
            return False
        self._close_later(max(idle, key=lambda found: counts[found[0].owner])[1])
        return True

    def _idle(self) -> list[tuple[_Slot, UpstreamConnection]]:
        now = time.monotonic()
        return [
            (slot, each)
            for slot, connections in self._open.items()
            for each in connections
            if each.is_idle and (each.is_taken or now - each.opened_at > _FIRST_USE_SECONDS)
        ]

    async def _wait_for_turn(self, owner: str | None) -> None:
        waiting = _Waiting(owner, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            async with asyncio.timeout(self._settings.timeout):
                await waiting.woken
        except TimeoutError:
            raise LimitError(
                f"All connections to the upstream server {self.name!r} are in use "
                f"({self._settings.max_connections}, half of them for one principal). Try again "
                "later."
            ) from None
        finally:
            self._waiting.remove(waiting)

    # -- opening ------------------------------------------------------------------------------

    async def _wait_for(self, opening: asyncio.Task[UpstreamConnection]) -> None:
        """Wait until a connection is open; not for long if the upstream was lost."""
        if not (self._pauses is not None or self._is_lost or self.presence.is_unavailable):
            await asyncio.shield(opening)
            return
        await asyncio.wait([opening], timeout=_PATIENCE)
        if not opening.done():
            raise UpstreamUnavailableError(self.name, self.presence.reason)
        opening.result()

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
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
            # If it failed, another one may be opened.
            self.release()
        self._pauses = None
        self.presence.found()
        self._is_legacy = connection.is_legacy
        # Reconnecting is faster if the era is known.
        self._mode = Mode(not connection.is_legacy, connection.is_legacy, self._asked_mode.revision)
        self._open.setdefault(self._slot_of(caller), []).append(connection)
        self._limit_lifetime(connection, caller.principal)
        connection.last_caller = caller.key
        connection.opened_at = time.monotonic()
        self._on_open(connection)
        return connection

    def _limit_lifetime(self, connection: UpstreamConnection, principal: Principal | None) -> None:
        until = _valid_until(principal)
        if self.is_per_principal and until < math.inf:
            loop = asyncio.get_running_loop()
            self._expiries[connection] = loop.call_later(
                until - time.time(), self._retire, connection
            )

    async def _try_to_connect(self, caller: ProxyCaller) -> UpstreamConnection:
        checked_at = time.monotonic()
        make_channel = await self._settings.make_channel(caller.principal)
        try:
            connection = await self._connect_at(self._mode, make_channel, caller)
        except (PeerError, TransportError, TimeoutError):
            if self._mode == self._asked_mode:
                raise
            # It may speak another era since it was restarted.
            self._mode, self._is_legacy = self._asked_mode, None
            connection = await self._connect_at(self._mode, make_channel, caller)
        connection.make_channel, connection.checked_at = make_channel, checked_at
        return connection

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
