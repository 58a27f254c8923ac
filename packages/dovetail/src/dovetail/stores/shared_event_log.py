"""The events of one stream, in memory and where other processes can read them."""

from __future__ import annotations

from dovetail.stores.events import MemoryEventLog
from dovetail.stores.shared_stores import SharedEvents

__all__ = ["SharedEventLog"]


class SharedEventLog(MemoryEventLog):
    """Stores events here for a resumed stream, and in the store for the time after this process.

    Events are sent without waiting for the store: a client that has received an event does not
    need it again, and a stream is resumed from here while the process runs.
    """

    __slots__ = ("_session", "_shared")

    def __init__(
        self, session: str, stream: str, limit: int, shared: SharedEvents, requests: bytes
    ) -> None:
        super().__init__(stream, limit)
        self._session = session
        self._shared = shared
        shared.begin(session, stream, requests)

    def append(self, message: bytes) -> bytes:
        """Store an event; drops the oldest ones beyond the limit."""
        id = super().append(message)
        self._shared.append(self._session, self._stream, self._last, message, oldest=self.oldest)
        return id

    def complete(self) -> None:
        """No more events will follow."""
        self._shared.complete(self._session, self._stream)

    def drop(self) -> None:
        """Delete the stored events."""
        self._shared.drop(self._session, self._stream)
