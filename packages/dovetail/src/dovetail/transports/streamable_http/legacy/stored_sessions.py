"""Sessions that all processes know, as named fields, limited in number and removed when unused.

The limit is for all clients together. When it is reached, the owner with the most sessions loses
one, so that a client that floods the server cannot lock out the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

import msgspec
from msgspec import Struct

from dovetail.errors import LimitError, StoreError
from dovetail.runtime.state import ServerState
from dovetail.state import ABSENT, Limit

__all__ = ["StoredSessions"]

# Seconds without use after which an owner's session may be replaced by a new one of its own.
_MIN_IDLE = 60.0
# A used session is marked as used this many times in its lifetime, and at least so often.
_MARKS = 4
_MAX_MARK_SECONDS = 60.0
# Seconds for which it is remembered which sessions there are; asked only when the limit is reached.
_REMEMBER = 1.0


class _Stored(Struct, array_like=True):
    # The hash of the owner's name.
    owner: str
    # When the session was last marked as used, and the seconds after which it ends.
    used: float
    lifetime: float
    fields: dict[str, bytes]


class StoredSessions:
    """Sessions by id. All methods raise StoreError."""

    def __init__(self, state: ServerState) -> None:
        self._backend = state.backend
        self._prefix = state.key("session", "")
        self._places = state.key("sessions")
        # Id -> owner and last use, and the time at which they were counted.
        self._counted: dict[str, tuple[str, float]] = {}
        self._counted_at = 0.0

    async def add(
        self, id: str, owner: str, fields: Mapping[str, bytes], *, limit: int, lifetime: float
    ) -> Sequence[str]:
        """Add a session; returns the ids of sessions that were ended to make room.

        Raises LimitError if there is no room.
        """
        hashed = sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()
        ended: list[str] = []
        while await self._backend.take([Limit(self._places, limit)], holder=id, ttl=lifetime):
            chosen = await self._choose(hashed)
            if chosen is None:
                raise LimitError(
                    f"The server has reached its limit of {limit} sessions. Try again later."
                )
            if await self.remove(chosen):
                ended.append(chosen)
        stored = _Stored(hashed, time.time(), lifetime, dict(fields))
        await self._set(id, stored, ABSENT)
        return ended

    async def _choose(self, owner: str) -> str | None:
        """The session that has to end for a new one of this owner; None if that is not fair."""
        now = time.time()
        if not self._counted or now - self._counted_at > _REMEMBER:
            self._counted_at = now
            self._counted = {}
            async for key, value in self._backend.scan(self._prefix):
                stored = _decode(value.data)
                self._counted[key.removeprefix(self._prefix)] = stored.owner, stored.used
        counts = Counter(each for each, _ in self._counted.values())
        if not counts:
            return None
        [(largest, most)] = counts.most_common(1)
        has_more = most >= counts[owner] + 2
        loser = owner if not has_more and counts[owner] else largest
        owned = ((used, id) for id, (each, used) in self._counted.items() if each == loser)
        used, chosen = min(owned)
        if not has_more and now - used < _MIN_IDLE:
            return None
        del self._counted[chosen]
        return chosen

    async def load(self, id: str, lifetime: float) -> dict[str, bytes] | None:
        """The fields of a session, which now lasts so many seconds; None if there is none."""
        found = await self._backend.get(self._prefix + id, ttl=lifetime)
        if found is None:
            return None
        stored = _decode(found.data)
        if time.time() - stored.used > min(lifetime / _MARKS, _MAX_MARK_SECONDS):
            await self._mark(id, lifetime)
        return stored.fields

    async def change(self, id: str, changes: Mapping[str, bytes | None]) -> bool:
        """Change fields, None removes one; False if the session has ended."""
        while (found := await self._backend.get(self._prefix + id)) is not None:
            stored = _decode(found.data)
            for field, value in changes.items():
                if value is None:
                    stored.fields.pop(field, None)
                else:
                    stored.fields[field] = value
            stored.used = time.time()
            if await self._set(id, stored, found.version):
                return True
        return False

    async def _mark(self, id: str, lifetime: float) -> None:
        """Mark a session as used; if that fails, the next request does it."""
        with suppress(StoreError):
            # Whether the place was free again is no matter: the session exists.
            await self._backend.take([Limit(self._places, 0)], holder=id, ttl=lifetime)
            await self.change(id, {})

    async def remove(self, id: str) -> bool:
        """End a session; False if it has ended already."""
        existed = await self._backend.delete(self._prefix + id)
        await self._backend.give_back([self._places], id)
        return existed

    async def _set(self, id: str, stored: _Stored, version: int) -> bool:
        key, packed = self._prefix + id, msgspec.msgpack.encode(stored)
        written = await self._backend.set(key, packed, ttl=stored.lifetime, version=version)
        return written is not None


def _decode(data: bytes) -> _Stored:
    return msgspec.msgpack.decode(data, type=_Stored)
