"""The stores that the processes of a cluster share, behind one URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from dovetail.stores.cluster import Cluster
from dovetail.stores.tasks import SharedTaskStore

__all__ = [
    "OverLimit",
    "RateBucket",
    "RunningLimit",
    "SharedEvents",
    "SharedRates",
    "SharedRevocations",
    "SharedRounds",
    "SharedSessionStates",
    "SharedSessions",
    "SharedStores",
    "StoredEvents",
]


class SharedRounds(Protocol):
    """Remembers which answers have been used."""

    async def use(self, id: bytes, lifetime: float) -> bool:
        """Record a round for `lifetime` seconds; False if it is recorded already."""


class SharedSessions(Protocol):
    """Sessions that all processes know, as named fields. All methods raise StoreError."""

    async def add(
        self, id: str, owner: str, fields: Mapping[str, bytes], *, limit: int, lifetime: float
    ) -> Sequence[str]:
        """Add a session; returns the ids of those that were ended to make room.

        Raises LimitError if there is no room.
        """

    async def load(self, id: str) -> dict[str, bytes] | None:
        """The fields of a session; None if there is no such session."""

    async def change(self, id: str, changes: Mapping[str, bytes | None]) -> bool:
        """Change fields, None removes one; False if the session has ended."""

    async def touch(self, id: str, lifetime: float) -> bool:
        """Mark a session as used; False if it has ended."""

    async def remove(self, id: str) -> bool:
        """End a session; False if it has ended already."""


class StoredEvents(NamedTuple):
    """The rest of a stream whose process has ended."""

    # Numbers and messages.
    events: list[tuple[int, bytes]]
    # What `begin` was given.
    requests: bytes
    is_complete: bool


class SharedEvents(Protocol):
    """Events of streams, for clients that resume a stream after its process has ended.

    The methods that write raise nothing: without the store, a stream can be resumed only while its
    process runs.
    """

    def begin(self, session: str, stream: str, requests: bytes) -> None:
        """Store a new stream and the requests that it answers."""

    def append(
        self, session: str, stream: str, number: int, message: bytes, *, oldest: int
    ) -> None:
        """Store an event; drops those before number `oldest`."""

    def complete(self, session: str, stream: str) -> None:
        """No more events will follow."""

    def drop(self, session: str, stream: str) -> None:
        """Delete a stream."""

    async def read(self, session: str, stream: str, after: int) -> StoredEvents | None:
        """The events after a number; None if some are no longer stored. Raises StoreError."""


class RateBucket(NamedTuple):
    """A token bucket: refills at a rate, up to the burst; each call takes one token."""

    name: str
    per_second: float
    burst: float


class RunningLimit(NamedTuple):
    """How many calls may run at the same time under a name."""

    name: str
    limit: int


class OverLimit(NamedTuple):
    """Why a call is rejected."""

    # Counted from 0: the buckets, then the limits of running calls.
    position: int
    # Seconds until a bucket has a token.
    wait: float


class SharedRates(Protocol):
    """Limits of all processes together."""

    async def take(
        self, buckets: Sequence[RateBucket], running: Sequence[RunningLimit] = ()
    ) -> OverLimit | str:
        """Count a call if no limit is reached; returns its name for `release`. Raises StoreError.

        Otherwise counts nothing and returns a limit that is reached.
        """

    def release(self, call: str, running: Sequence[RunningLimit]) -> None:
        """Count a call as finished."""


class SharedRevocations(Protocol):
    """The API keys that are revoked in all processes; asking for one does not wait."""

    def __contains__(self, id: object) -> bool:
        """Whether a key is revoked."""

    async def revoke(self, id: str, expires: float | None) -> None:
        """Revoke a key in all processes; raises StoreError, or LimitError if there are too many.

        `expires`: the Unix time at which the key expires, when the entry is dropped.
        """


class SharedSessionStates(Protocol):
    """Values by owner and key; `dovetail.core.session_states` describes them."""

    async def get(self, owner: str, key: str) -> bytes | None:
        """The value, None if there is none."""

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        """Store a value; raises LimitError if the owner would have more than `max_bytes`."""

    async def delete(self, owner: str, key: str) -> None:
        """Remove a value, if it exists."""

    def forget(self, owner: str) -> None:
        """Remove all values of an owner; returns at once."""


class SharedStores(Protocol):
    """All shared stores of one server."""

    @property
    def cluster(self) -> Cluster:
        """The other processes."""

    @property
    def rounds(self) -> SharedRounds:
        """The answers that have been used."""

    @property
    def sessions(self) -> SharedSessions:
        """The sessions of legacy clients."""

    @property
    def events(self) -> SharedEvents:
        """The events of their streams."""

    @property
    def tasks(self) -> SharedTaskStore:
        """The tasks."""

    @property
    def rates(self) -> SharedRates:
        """Rate limits and limits of running calls."""

    @property
    def revocations(self) -> SharedRevocations:
        """The API keys that are revoked."""

    @property
    def session_states(self) -> SharedSessionStates:
        """The values that handlers keep for callers."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Connect on entry, disconnect on exit; an unreachable store is tried again later."""
