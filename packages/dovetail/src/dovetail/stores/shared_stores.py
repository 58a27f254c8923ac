"""The stores that the processes of a cluster share, behind one URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from dovetail.stores.cluster import Cluster
from dovetail.stores.tasks import SharedTaskStore

__all__ = [
    "SharedEvents",
    "SharedSessions",
    "SharedStores",
    "StoredEvents",
]


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


class SharedStores(Protocol):
    """All shared stores of one server."""

    @property
    def cluster(self) -> Cluster:
        """The other processes."""

    @property
    def sessions(self) -> SharedSessions:
        """The sessions of legacy clients."""

    @property
    def events(self) -> SharedEvents:
        """The events of their streams."""

    @property
    def tasks(self) -> SharedTaskStore:
        """The tasks."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Connect on entry, disconnect on exit; an unreachable store is tried again later."""
