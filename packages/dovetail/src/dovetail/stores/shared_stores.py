"""The stores that the processes of a cluster share, behind one URL."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from dovetail.stores.cluster import Cluster

__all__ = ["SharedStores"]


class SharedStores(Protocol):
    """All shared stores of one server."""

    @property
    def cluster(self) -> Cluster:
        """The other processes."""

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Connect on entry, disconnect on exit; an unreachable store is tried again later."""
