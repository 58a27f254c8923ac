"""Sessions in a backend: fields, limits by owner, expiry."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovetail.errors import LimitError
from dovetail.runtime.state import ServerState
from dovetail.state import MemoryBackend
from dovetail.transports.streamable_http.legacy.stored_sessions import StoredSessions

MINUTE = 60.0
Check = Callable[[StoredSessions, StoredSessions], Coroutine[Any, Any, None]]


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


def run(clock: Clock, check: Check) -> None:
    """Run a check on the sessions of two processes."""
    state = ServerState(MemoryBackend(clock=clock), "test")
    asyncio.run(check(StoredSessions(state), StoredSessions(state)))


async def add(
    sessions: StoredSessions, id: str, owner: str = "", limit: int = 10, lifetime: float = MINUTE
) -> list[str]:
    fields = {"handshake": b"{}", "owner": owner.encode()}
    return [*await sessions.add(id, owner, fields, limit=limit, lifetime=lifetime)]


def test_a_session_has_its_fields_until_it_ends(clock: Clock) -> None:
    async def check(one: StoredSessions, other: StoredSessions) -> None:
        assert await one.load("a", MINUTE) is None
        assert await add(one, "a", "me") == []
        assert await other.load("a", MINUTE) == {"handshake": b"{}", "owner": b"me"}
        assert await other.change("a", {"log": b"3", "owner": None, "uri \xe9": b""})
        assert await one.load("a", MINUTE) == {"handshake": b"{}", "log": b"3", "uri \xe9": b""}
        assert await other.remove("a")
        assert not await one.remove("a")
        assert not await one.change("a", {"log": b"3"})
        assert await one.load("a", MINUTE) is None

    run(clock, check)


def test_changes_at_the_same_time_are_all_kept(clock: Clock) -> None:
    async def check(one: StoredSessions, other: StoredSessions) -> None:
        await add(one, "a")
        both = (one, other) * 10
        changes = [each.change("a", {f"uri {n}": b""}) for n, each in enumerate(both)]
        assert all(await asyncio.gather(*changes))
        assert len(await one.load("a", MINUTE) or {}) == 22

    run(clock, check)


def test_unused_sessions_expire_and_give_their_place_back(clock: Clock) -> None:
    async def check(one: StoredSessions, other: StoredSessions) -> None:
        await add(one, "a", "me", limit=1)
        clock.now += MINUTE / 2
        assert await other.load("a", MINUTE) is not None
        clock.now += MINUTE / 2
        with pytest.raises(LimitError):
            await add(one, "b", "you", limit=1)
        clock.now += MINUTE / 2
        assert await one.load("a", MINUTE) is None
        assert await add(one, "b", "you", limit=1) == []

    run(clock, check)


def test_the_owner_with_the_most_sessions_makes_room(clock: Clock) -> None:
    async def check(one: StoredSessions, other: StoredSessions) -> None:
        for id in ("a", "b", "c"):
            clock.now += 1
            await add(one, id, "flood", limit=3)
        clock.now += MINUTE / 2
        await other.load("a", MINUTE)
        assert await add(other, "d", "quiet", limit=3) == ["b"]
        assert await one.load("b", MINUTE) is None
        assert await one.load("a", MINUTE) is not None
        # "flood" has two left: too few more than "other" would have.
        assert await add(other, "e", "other", limit=3) == ["c"]
        with pytest.raises(LimitError):
            await add(one, "f", "flood", limit=3)

    run(clock, check)


def test_a_full_store_refuses_an_owner_whose_sessions_are_in_use(clock: Clock) -> None:
    async def check(one: StoredSessions, _: StoredSessions) -> None:
        await add(one, "a", "me", limit=2, lifetime=10 * MINUTE)
        await add(one, "b", "me", limit=2, lifetime=10 * MINUTE)
        with pytest.raises(LimitError, match="limit of 2 sessions"):
            await add(one, "c", "me", limit=2)
        clock.now += MINUTE + 1
        await one.load("a", 10 * MINUTE)
        assert await add(one, "c", "me", limit=2) == ["b"]

    run(clock, check)
