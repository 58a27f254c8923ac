"""Sessions by id: limited in number, and removed when unused.

The interface and an in-memory implementation. Ids are 256 random bits in base64url, which is
visible ASCII (http.session.ascii, http.session.random).
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from dovetail.errors import LimitError

__all__ = ["MemorySessions", "Sessions"]

T = TypeVar("T")

# Seconds without use after which a session may be removed if the store is full.
_MIN_IDLE = 60.0


class Sessions(Protocol[T]):
    """A session store."""

    def add(self, session: T) -> str:
        """Add a session; returns its new id. Raises LimitError if the store is full."""

    def get(self, id: str) -> T | None:
        """The session with this id, now marked as used; None if there is none."""

    def remove(self, id: str) -> T | None:
        """Remove a session."""

    def expire(self) -> list[T]:
        """Remove and return the sessions that have expired."""


class MemorySessions(Generic[T]):
    """Sessions of a single process, least recently used first."""

    def __init__(
        self,
        limit: int,
        lifetime: float,
        *,
        is_busy: Callable[[T], bool] = lambda session: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._lifetime = lifetime
        self._is_busy = is_busy
        self._clock = clock
        self._sessions: OrderedDict[str, tuple[T, float]] = OrderedDict()
        # No session can expire before this time.
        self._due = clock() + lifetime

    def add(self, session: T) -> str:
        """Add a session under a new id."""
        if len(self._sessions) >= self._limit:
            raise LimitError(
                f"The server has reached its limit of {self._limit} sessions. Try again later."
            )
        id = secrets.token_urlsafe(32)
        self._sessions[id] = (session, self._clock())
        return id

    def get(self, id: str) -> T | None:
        """The session with this id, now the most recently used one."""
        kept = self._sessions.get(id)
        if kept is None:
            return None
        self._sessions[id] = (kept[0], self._clock())
        self._sessions.move_to_end(id)
        return kept[0]

    def remove(self, id: str) -> T | None:
        """Remove a session."""
        kept = self._sessions.pop(id, None)
        return kept[0] if kept is not None else None

    def expire(self) -> list[T]:
        """Remove and return the sessions that have expired; busy sessions are kept.

        If the store is full, the least recently used session is also removed if it has been idle
        for a minute: its client can start a new session, while a new client could not connect.
        """
        now = self._clock()
        ended: list[T] = []
        is_full = len(self._sessions) >= self._limit
        if now < self._due and not is_full:
            return ended
        self._due = now + self._lifetime
        for _ in range(len(self._sessions)):
            id, (session, used) = next(iter(self._sessions.items()))
            lifetime = min(self._lifetime, _MIN_IDLE) if is_full and not ended else self._lifetime
            if now - used < lifetime:
                self._due = used + self._lifetime
                break
            if self._is_busy(session):
                self._sessions[id] = (session, now)
                self._sessions.move_to_end(id)
                continue
            del self._sessions[id]
            ended.append(session)
        return ended

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[T]:
        return iter([session for session, _ in self._sessions.values()])
