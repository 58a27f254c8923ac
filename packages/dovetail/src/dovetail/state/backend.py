"""`Backend`: what shared or durable state needs. It holds bytes and knows no protocol.

Time is that of the backend. A method that returns has been carried out, and what it has stored
survives what the backend promises; a method that cannot be carried out raises StoreError, and
whether it took effect is then unknown. Names of values, logs, limits, leases and channels are
separate.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Self

__all__ = [
    "ABSENT",
    "Backend",
    "Entry",
    "Inbox",
    "Lease",
    "Limit",
    "LogPage",
    "Published",
    "Refusal",
    "Retention",
    "Value",
    "stop_task",
]

ABSENT = 0
"""The version of a value that does not exist."""
# Messages that wait for one subscriber; beyond, they are lost.
_MAX_WAITING = 10_000
# Seconds between two attempts to cancel a task.
_STOP_AGAIN = 0.1


class Value(NamedTuple):
    """A stored value."""

    data: bytes
    # Differs for every write of a key, also after the value was deleted.
    version: int


class Lease(NamedTuple):
    """The right of one holder to a name, until it is not renewed in time."""

    name: str
    holder: str
    # Larger than that of every earlier lease of this name.
    token: int


class Limit(NamedTuple):
    """A bucket of tokens, of which one is taken at a time.

    With `per_second`, tokens come back at that rate. Without, a token belongs to its holder until
    it is given back or its time has passed.
    """

    name: str
    capacity: float
    per_second: float = 0.0


class Refusal(NamedTuple):
    """The limit that is reached."""

    # In the sequence that was asked for, from 0.
    position: int
    # Seconds until it has a token; 0 if that is unknown.
    wait: float


class Retention(NamedTuple):
    """What a log keeps: entries within all of these limits, and always the newest one."""

    max_entries: int = 10_000
    max_bytes: int = 1024 * 1024
    # Seconds. A log to which nothing is appended for so long disappears.
    max_age: float = 600.0


class Entry(NamedTuple):
    """An entry of a log."""

    # Given by the backend: larger than that of every earlier entry; not always by one.
    position: int
    data: bytes


class LogPage(NamedTuple):
    """Entries of a log, oldest first."""

    entries: list[Entry]
    # Entries are missing before the first one, or the position that was asked for is unknown.
    lost: bool


class Published(NamedTuple):
    """A message on a channel."""

    channel: str
    # None: messages may have been lost, on any of the channels.
    data: bytes | None


class Backend(ABC):
    """A place for state: the memory of a process, a file, a database."""

    problem: str | None = None
    """Why it cannot be used, or not in full, as far as it is known; None if it can."""

    is_local: bool = False
    """Whether only processes of this machine can use it, so that they need no common state keys."""
    # How many servers use it, and who opens or closes it.
    _users = 0
    _turn: asyncio.Lock | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Open the backend for the first user, and close it after the last one."""
        if self._turn is None:
            self._turn = asyncio.Lock()
        async with self._turn:
            if not self._users:
                try:
                    await self.open()
                except BaseException:
                    await self.close()
                    raise
            self._users += 1
        try:
            yield self
        finally:
            # A second cancellation must not leave it open.
            await asyncio.shield(asyncio.ensure_future(self._leave()))

    async def _leave(self) -> None:
        assert self._turn is not None
        async with self._turn:
            self._users -= 1
            if not self._users:
                await self.close()

    async def open(self) -> None:  # noqa: B027 - most backends need it, not all
        """Prepare for use on this event loop; raises StoreError if it can never be used.

        A store that cannot be reached now is no error.
        """

    async def close(self) -> None:  # noqa: B027 - the same
        """Release everything; the backend can be opened again."""

    # -- values ---------------------------------------------------------------------------------

    @abstractmethod
    async def get(self, key: str, *, ttl: float | None = None) -> Value | None:
        """The value of a key; with `ttl`, it now expires after so many seconds."""

    @abstractmethod
    async def set(
        self,
        key: str,
        data: bytes,
        *,
        ttl: float | None = None,
        version: int | None = None,
        fence: Lease | None = None,
    ) -> int | None:
        """Store a value; returns its version, or None if a condition is not met.

        The value expires after `ttl` seconds, or never. The conditions: it has this `version`
        (ABSENT: there is none), and `fence` is still held.
        """

    @abstractmethod
    async def delete(
        self, key: str, *, version: int | None = None, fence: Lease | None = None
    ) -> bool:
        """Delete a value under the same conditions; whether there was one to delete."""

    @abstractmethod
    def scan(self, prefix: str) -> AsyncIterator[tuple[str, Value]]:
        """The values whose keys have this prefix, in any order.

        May take time in proportion to all that the backend has. What is written meanwhile may be
        missing.
        """

    # -- limits ---------------------------------------------------------------------------------

    @abstractmethod
    async def take(
        self, limits: Sequence[Limit], *, holder: str = "", ttl: float = 0.0
    ) -> Refusal | None:
        """Take a token of every limit, or of none if one of them is reached.

        A `holder` has one token of a limit that does not refill; taking it again gives it `ttl`
        more seconds.
        """

    @abstractmethod
    async def give_back(self, names: Sequence[str], holder: str) -> None:
        """Give back the tokens of a holder."""

    # -- logs -----------------------------------------------------------------------------------

    @abstractmethod
    async def append(
        self, log: str, data: bytes, retention: Retention, *, fence: Lease | None = None
    ) -> int | None:
        """Append an entry and trim the log; returns its position, or None without the lease.

        Also publishes an empty message on the channel with the name of the log.
        """

    @abstractmethod
    async def read(self, log: str, after: int = 0, limit: int = 1000) -> LogPage:
        """The first entries after a position; 0 is before the first entry."""

    @abstractmethod
    async def drop(self, log: str) -> None:
        """Delete a log."""

    # -- messages -------------------------------------------------------------------------------

    @abstractmethod
    async def publish(self, channel: str, data: bytes) -> None:
        """Send a message to all subscribers, in the order of the calls. It is not stored."""

    @abstractmethod
    def subscribe(self, *channels: str) -> AbstractAsyncContextManager[AsyncIterator[Published]]:
        """Receive the messages that are published while the context is open.

        Entering waits for the subscription, but not for a store that cannot be reached: then, and
        whenever messages may have been lost, a message without data follows once they arrive
        again. So read what the messages are about after entering, and after each of those.
        """

    # -- leases ---------------------------------------------------------------------------------

    @abstractmethod
    async def acquire(self, name: str, holder: str, ttl: float) -> Lease | None:
        """Get a name for `ttl` seconds; None if it is held, also by the same holder."""

    @abstractmethod
    async def renew(self, lease: Lease, ttl: float) -> bool:
        """Keep a lease for `ttl` seconds from now; False if it is lost."""

    @abstractmethod
    async def release(self, lease: Lease) -> None:
        """Give a lease back, if it is still held."""


async def stop_task(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end; again if a library has swallowed the cancellation."""
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_STOP_AGAIN)


class Inbox:
    """The messages of one subscriber, for implementations: an async iterator with a bound."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Published] = deque()
        self._arrived = asyncio.Event()

    def put(self, message: Published) -> None:
        """Add a message; beyond the bound all are dropped and one without data takes their place.

        From any thread.
        """
        if len(self._waiting) >= _MAX_WAITING or message.data is None:
            self._waiting.clear()
            message = Published("", None)
        self._waiting.append(message)
        try:
            is_here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            is_here = False
        if is_here:
            self._arrived.set()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._arrived.set)

    def __aiter__(self) -> Inbox:
        return self

    async def __anext__(self) -> Published:
        while True:
            if self._waiting:
                return self._waiting.popleft()
            self._arrived.clear()
            # A message may have been added by another thread before the flag was cleared.
            if not self._waiting:
                await self._arrived.wait()
