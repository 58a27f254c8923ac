"""Sessions by id: bounded in number, forgotten when nobody has used them for a while.

An interface of four verbs and the embedded default. Ids are 256 random bits in base64url,
which is visible ASCII (http.session.ascii, http.session.random).
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

# Seconds of rest after which a session may have to make room for another one.
_RESTED = 60.0


class Sessions(Protocol[T]):
    """Where sessions are kept."""

    def add(self, session: T) -> str:
        """Keep a session; returns its new id. Raises LimitError when there are too many."""

    def get(self, id: str) -> T | None:
        """The session of this id, which counts as used; None if there is none."""

    def remove(self, id: str) -> T | None:
        """Forget a session."""

    def expire(self) -> list[T]:
        """Forget sessions that nobody has used for long; returns them."""


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
        # Before this nothing can expire: what is used meanwhile lives longer, not shorter.
        self._due = clock() + lifetime

    def add(self, session: T) -> str:
        """Keep a session under a new id."""
        if len(self._sessions) >= self._limit:
            raise LimitError(f"The server has {self._limit} sessions at work and takes no more.")
        id = secrets.token_urlsafe(32)
        self._sessions[id] = (session, self._clock())
        return id

    def get(self, id: str) -> T | None:
        """The session, now the most recently used one."""
        kept = self._sessions.get(id)
        if kept is None:
            return None
        self._sessions[id] = (kept[0], self._clock())
        self._sessions.move_to_end(id)
        return kept[0]

    def remove(self, id: str) -> T | None:
        """Forget a session."""
        kept = self._sessions.pop(id, None)
        return kept[0] if kept is not None else None

    def expire(self) -> list[T]:
        """Forget the sessions whose time is up; a busy one is given another life.

        Where there is no room for another one, the longest unused has to go, if it has rested
        for a while: its client can begin again, and a newcomer could not begin at all.
        """
        now = self._clock()
        ended: list[T] = []
        is_full = len(self._sessions) >= self._limit
        if now < self._due and not is_full:
            return ended
        self._due = now + self._lifetime
        for _ in range(len(self._sessions)):
            id, (session, used) = next(iter(self._sessions.items()))
            lifetime = min(self._lifetime, _RESTED) if is_full and not ended else self._lifetime
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
