"""The stores that the processes of a cluster share, behind one URL."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from dovetail.stores.cluster import Cluster
from dovetail.stores.tasks import SharedTaskStore

__all__ = [
    "SharedEvents",
    "SharedStores",
    "StoredEvents",
]


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
    def events(self) -> SharedEvents:
        """The events of their streams."""

    @property
    def tasks(self) -> SharedTaskStore:
        """The tasks."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Connect on entry, disconnect on exit; an unreachable store is tried again later."""
