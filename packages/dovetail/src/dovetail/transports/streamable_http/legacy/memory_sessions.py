"""Sessions by id: limited in number, and removed when unused.

The limit is for all clients together. When it is reached, the owner with the most sessions loses
one, so that a client that floods the server cannot lock out the others.

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

__all__ = ["MemorySessions", "Sessions", "new_session_id"]

T = TypeVar("T")

# Seconds without use after which an owner's session may be replaced by a new one of its own.
_MIN_IDLE = 60.0


def new_session_id() -> str:
    """A random session id."""
    return secrets.token_urlsafe(32)


class Sessions(Protocol[T]):
    """A session store."""

    def add(self, session: T, owner: str = "", id: str | None = None) -> str:
        """Add a session; returns its id. Raises LimitError if the store is full."""

    def get(self, id: str) -> T | None:
        """The session with this id, now marked as used; None if there is none."""

    def remove(self, id: str) -> T | None:
        """Remove a session."""

    def expire(self) -> list[T]:
        """Remove and return the sessions that have expired."""

    def make_room(self, owner: str) -> T | None:
        """If the store is full, remove and return a session in favour of this owner, if fair."""


class _Kept(Generic[T]):
    """A session with its owner and the time of its last use."""

    __slots__ = ("owner", "session", "used")

    def __init__(self, session: T, owner: str, used: float) -> None:
        self.session = session
        self.owner = owner
        self.used = used


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
        self._sessions: OrderedDict[str, _Kept[T]] = OrderedDict()
        # Ids by owner, least recently used first.
        self._owned: dict[str, OrderedDict[str, None]] = {}
        # No session can expire before this time.
        self._due = clock() + lifetime

    def add(self, session: T, owner: str = "", id: str | None = None) -> str:
        """Add a session, under a new id unless one is given."""
        if len(self._sessions) >= self._limit:
            raise LimitError(
                f"The server has reached its limit of {self._limit} sessions. Try again later."
            )
        id = id or new_session_id()
        self._sessions[id] = _Kept(session, owner, self._clock())
        self._owned.setdefault(owner, OrderedDict())[id] = None
        return id

    def get(self, id: str) -> T | None:
        """The session with this id, now the most recently used one."""
        kept = self._sessions.get(id)
        if kept is None:
            return None
        self._touch(id, kept)
        return kept.session

    def peek(self, id: str) -> T | None:
        """The session with this id, without marking it as used."""
        kept = self._sessions.get(id)
        return None if kept is None else kept.session

    def remove_idle(self) -> T | None:
        """If the store is full, remove and return the least recently used idle session."""
        if len(self._sessions) < self._limit:
            return None
        for id, kept in self._sessions.items():
            if not self._is_busy(kept.session):
                return self.remove(id)
        return None

    def _touch(self, id: str, kept: _Kept[T]) -> None:
        kept.used = self._clock()
        self._sessions.move_to_end(id)
        self._owned[kept.owner].move_to_end(id)

    def remove(self, id: str) -> T | None:
        """Remove a session."""
        kept = self._sessions.pop(id, None)
        if kept is None:
            return None
        owned = self._owned[kept.owner]
        del owned[id]
        if not owned:
            del self._owned[kept.owner]
        return kept.session

    def make_room(self, owner: str) -> T | None:
        """If the store is full, remove a session of the owner with the most sessions.

        Its least recently used one, if possible one that is not busy. If this owner has about as
        many, one of its own is removed, but only if it was not used for a minute.
        """
        if len(self._sessions) < self._limit:
            return None
        largest = max(self._owned, key=lambda each: len(self._owned[each]))
        has_more = len(self._owned[largest]) >= len(self._owned.get(owner, ())) + 2
        ids = self._owned[largest if has_more or owner not in self._owned else owner]
        idle = (id for id in ids if not self._is_busy(self._sessions[id].session))
        chosen = next(idle, None)
        if has_more:
            return self.remove(chosen or next(iter(ids)))
        if chosen is None or self._clock() - self._sessions[chosen].used < _MIN_IDLE:
            return None
        return self.remove(chosen)

    def expire(self) -> list[T]:
        """Remove and return the sessions that have expired; busy sessions are kept."""
        now = self._clock()
        ended: list[T] = []
        if now < self._due:
            return ended
        self._due = now + self._lifetime
        for _ in range(len(self._sessions)):
            id, kept = next(iter(self._sessions.items()))
            if now - kept.used < self._lifetime:
                self._due = kept.used + self._lifetime
                break
            if self._is_busy(kept.session):
                self._touch(id, kept)
                continue
            self.remove(id)
            ended.append(kept.session)
        return ended

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[T]:
        return iter([kept.session for kept in self._sessions.values()])
