"""A backend in the memory of one process."""

from __future__ import annotations

import math
import random
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from threading import Lock

from dovetail.state.backend import (
    ABSENT,
    Backend,
    Entry,
    Inbox,
    Lease,
    Limit,
    LogPage,
    Published,
    Refusal,
    Retention,
    Value,
)

__all__ = ["MemoryBackend"]

# What a value or an entry counts besides its name and its bytes.
_OVERHEAD = 100
# Writes between two searches for what has expired.
_SWEEP = 1000
# Tolerates rounding errors, so that a caller who waited long enough gets its token.
_WHOLE = 1 - 1e-9


class _Log:
    __slots__ = ("entries", "expires", "size")

    def __init__(self) -> None:
        # Time, position of the entry before, and the entry.
        self.entries: deque[tuple[float, int, Entry]] = deque()
        self.size = 0
        self.expires = math.inf


class MemoryBackend(Backend):
    """State that ends with the process.

    Beyond `max_bytes`, the values that were not used for the longest time are dropped.
    """

    is_local = True

    def __init__(
        self, max_bytes: int = 64 * 1024 * 1024, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        # Not for the event loop: servers may run in several threads.
        self._lock = Lock()
        # Key -> value and expiry, least recently used first.
        self._values: OrderedDict[str, tuple[Value, float]] = OrderedDict()
        self._size = 0
        # Name -> level and time, of limits that refill; name -> holder -> expiry, of the others.
        self._levels: dict[str, tuple[Limit, float, float]] = {}
        self._holders: dict[str, dict[str, float]] = {}
        self._logs: dict[str, _Log] = {}
        self._leases: dict[str, tuple[Lease, float]] = {}
        self._inboxes: dict[str, list[Inbox]] = {}
        self._number = 0
        self._writes = 0

    # -- values ---------------------------------------------------------------------------------

    async def get(self, key: str, *, ttl: float | None = None) -> Value | None:
        """The value of a key."""
        with self._lock:
            found = self._find(key)
            if found is not None:
                self._values.move_to_end(key)
                if ttl is not None:
                    self._values[key] = found, self._clock() + ttl
            return found

    async def set(
        self,
        key: str,
        data: bytes,
        *,
        ttl: float | None = None,
        version: int | None = None,
        fence: Lease | None = None,
    ) -> int | None:
        """Store a value; returns its version, or None if a condition is not met."""
        with self._lock:
            self._sweep()
            if not self._may_write(key, version, fence):
                return None
            self._remove(key)
            # Random, so that no version comes back in another process after a restart.
            value = Value(data, random.getrandbits(52) or 1)
            self._values[key] = value, math.inf if ttl is None else self._clock() + ttl
            self._size += _size(key, data)
            while self._size > self._max_bytes and len(self._values) > 1:
                self._remove(next(iter(self._values)))
            return value.version

    async def delete(
        self, key: str, *, version: int | None = None, fence: Lease | None = None
    ) -> bool:
        """Delete a value; whether there was one to delete."""
        with self._lock:
            if self._find(key) is None or not self._may_write(key, version, fence):
                return False
            self._remove(key)
            return True

    async def scan(self, prefix: str) -> AsyncIterator[tuple[str, Value]]:
        """The values whose keys have this prefix."""
        with self._lock:
            keys = [key for key in self._values if key.startswith(prefix)]
            found = [(key, value) for key in keys if (value := self._find(key)) is not None]
        for each in found:
            yield each

    def _find(self, key: str) -> Value | None:
        value, expires = self._values.get(key, (None, 0.0))
        if value is not None and expires <= self._clock():
            self._remove(key)
            return None
        return value

    def _may_write(self, key: str, version: int | None, fence: Lease | None) -> bool:
        if version is not None:
            found = self._find(key)
            if version != (ABSENT if found is None else found.version):
                return False
        return fence is None or self._holds(fence)

    def _remove(self, key: str) -> None:
        found = self._values.pop(key, None)
        if found is not None:
            self._size -= _size(key, found[0].data)

    def _sweep(self) -> None:
        """Forget what has expired, now and then."""
        self._writes += 1
        if self._writes % _SWEEP:
            return
        now = self._clock()
        for key in [key for key, (_, expires) in self._values.items() if expires <= now]:
            self._remove(key)
        self._logs = {name: log for name, log in self._logs.items() if log.expires > now}
        self._leases = {name: lease for name, lease in self._leases.items() if lease[1] > now}
        self._levels = {
            name: known
            for name, known in self._levels.items()
            if _level(*known, now) < known[0].capacity
        }
        self._holders = {
            name: kept
            for name, held in self._holders.items()
            if (kept := {each: until for each, until in held.items() if until > now})
        }

    # -- limits ---------------------------------------------------------------------------------

    async def take(
        self, limits: Sequence[Limit], *, holder: str = "", ttl: float = 0.0
    ) -> Refusal | None:
        """Take a token of every limit, or of none if one of them is reached."""
        with self._lock:
            self._sweep()
            now = self._clock()
            levels = []
            for position, limit in enumerate(limits):
                if not limit.per_second:
                    held = self._holders.setdefault(limit.name, {})
                    if len(held) >= limit.capacity:
                        for each in [each for each, until in held.items() if until <= now]:
                            del held[each]
                    if holder not in held and len(held) >= limit.capacity:
                        return Refusal(position, 0.0)
                    continue
                known = self._levels.get(limit.name)
                level = limit.capacity if known is None else _level(limit, *known[1:], now)
                if level < _WHOLE:
                    return Refusal(position, (1 - level) / limit.per_second)
                levels.append((limit, level - 1, now))
            for taken in levels:
                self._levels[taken[0].name] = taken
            for limit in limits:
                if not limit.per_second:
                    self._holders[limit.name][holder] = now + ttl
            return None

    async def give_back(self, names: Sequence[str], holder: str) -> None:
        """Give back the tokens of a holder."""
        with self._lock:
            for name in names:
                self._holders.get(name, {}).pop(holder, None)

    # -- logs -----------------------------------------------------------------------------------

    async def append(
        self, log: str, data: bytes, retention: Retention, *, fence: Lease | None = None
    ) -> int | None:
        """Append an entry and trim the log; returns its position, or None without the lease."""
        with self._lock:
            self._sweep()
            if fence is not None and not self._holds(fence):
                return None
            now = self._clock()
            found = self._find_log(log)
            if found is None:
                found = self._logs[log] = _Log()
            entries = found.entries
            self._number += 1
            previous = entries[-1][2].position if entries else 0
            entries.append((now, previous, Entry(self._number, data)))
            found.size += len(data)
            found.expires = now + retention.max_age
            while len(entries) > 1 and (
                len(entries) > retention.max_entries
                or found.size > retention.max_bytes
                or entries[0][0] <= now - retention.max_age
            ):
                found.size -= len(entries.popleft()[2].data)
            self._send(Published(log, b""))
            return self._number

    async def read(self, log: str, after: int = 0, limit: int = 1000) -> LogPage:
        """The first entries after a position."""
        with self._lock:
            found = self._find_log(log)
            if found is None:
                return LogPage([], after != 0)
            rest: list[Entry] = []
            is_complete = False
            for _, previous, entry in reversed(found.entries):
                is_complete = after in (previous, entry.position)
                if entry.position <= after:
                    break
                rest.append(entry)
                if is_complete:
                    break
            rest.reverse()
            return LogPage(rest[:limit], not is_complete)

    async def drop(self, log: str) -> None:
        """Delete a log."""
        with self._lock:
            self._logs.pop(log, None)

    def _find_log(self, name: str) -> _Log | None:
        found = self._logs.get(name)
        if found is not None and found.expires <= self._clock():
            del self._logs[name]
            return None
        return found

    # -- messages -------------------------------------------------------------------------------

    async def publish(self, channel: str, data: bytes) -> None:
        """Send a message to all subscribers."""
        with self._lock:
            self._send(Published(channel, data))

    def _send(self, message: Published) -> None:
        for inbox in self._inboxes.get(message.channel, ()):
            inbox.put(message)

    @asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[AsyncIterator[Published]]:
        """Receive the messages that are published while the context is open."""
        inbox = Inbox()
        with self._lock:
            for channel in channels:
                self._inboxes.setdefault(channel, []).append(inbox)
        try:
            yield inbox
        finally:
            with self._lock:
                for channel in channels:
                    self._inboxes[channel].remove(inbox)
                    if not self._inboxes[channel]:
                        del self._inboxes[channel]

    # -- leases ---------------------------------------------------------------------------------

    async def acquire(self, name: str, holder: str, ttl: float) -> Lease | None:
        """Get a name for `ttl` seconds; None if it is held."""
        with self._lock:
            held = self._leases.get(name)
            if held is not None and self._holds(held[0]):
                return None
            self._number += 1
            lease = Lease(name, holder, self._number)
            self._leases[name] = lease, self._clock() + ttl
            return lease

    async def renew(self, lease: Lease, ttl: float) -> bool:
        """Keep a lease; False if it is lost."""
        with self._lock:
            if not self._holds(lease):
                return False
            self._leases[lease.name] = lease, self._clock() + ttl
            return True

    async def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still held."""
        with self._lock:
            if self._holds(lease):
                del self._leases[lease.name]

    def _holds(self, lease: Lease) -> bool:
        held, expires = self._leases.get(lease.name, (None, 0.0))
        return held is not None and held.token == lease.token and expires > self._clock()


def _size(key: str, data: bytes) -> int:
    return len(key) + len(data) + _OVERHEAD


def _level(limit: Limit, level: float, seen: float, now: float) -> float:
    """The tokens of a limit that refills."""
    return min(limit.capacity, level + max(0.0, now - seen) * limit.per_second)
