"""Sessions: random ids, a limit, and expiry."""

from __future__ import annotations

import pytest

from dovetail.errors import LimitError
from dovetail.transports.streamable_http.legacy.memory_sessions import MemorySessions


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make(limit: int = 10, lifetime: float = 60.0) -> tuple[MemorySessions[str], Clock, set[str]]:
    clock = Clock()
    busy: set[str] = set()
    kept: MemorySessions[str] = MemorySessions(
        limit, lifetime, is_busy=lambda session: session in busy, clock=clock
    )
    return kept, clock, busy


def test_a_session_is_found_by_its_id_until_it_is_removed() -> None:
    kept, _, _ = make()
    id = kept.add("a")
    assert kept.get(id) == "a"
    assert kept.remove(id) == "a"
    assert kept.get(id) is None
    assert kept.remove(id) is None


def test_ids_are_long_random_and_visible_ascii() -> None:
    kept, _, _ = make(100)
    ids = {kept.add("a") for _ in range(100)}
    assert len(ids) == 100
    assert all(len(id) >= 43 and all(0x21 <= ord(char) <= 0x7E for char in id) for id in ids)


def test_the_number_of_sessions_is_limited() -> None:
    kept, _, _ = make(2)
    first = kept.add("a")
    kept.add("b")
    with pytest.raises(LimitError, match="2 sessions"):
        kept.add("c")
    kept.remove(first)
    kept.add("c")
    assert list(kept) == ["b", "c"]
    assert len(kept) == 2


def test_unused_sessions_expire() -> None:
    kept, clock, _ = make()
    old, used = kept.add("old"), kept.add("used")
    clock.now = 59
    assert kept.expire() == []
    assert kept.get(used) == "used"
    clock.now = 60
    assert kept.expire() == ["old"]
    assert kept.get(old) is None
    clock.now = 119
    assert kept.expire() == ["used"]
    assert kept.expire() == []


def test_an_owner_replaces_its_own_sessions_that_it_does_not_use() -> None:
    kept, clock, busy = make(limit=3, lifetime=1000)
    for name in ("working", "oldest", "older"):
        kept.add(name)
        clock.now += 10
    busy.add("working")
    assert kept.make_room("") is None
    clock.now = 100
    assert kept.make_room("") == "oldest"
    assert kept.make_room("") is None
    kept.add("new")
    assert kept.make_room("") == "older"
    assert sorted(kept) == ["new", "working"]


def test_whoever_floods_the_store_makes_room_for_others() -> None:
    kept, _, busy = make(limit=4)
    for name in ("working", "second", "third"):
        kept.add(name, "flooder")
    kept.add("quiet", "quiet")
    busy.add("working")
    assert kept.make_room("flooder") is None
    with pytest.raises(LimitError):
        kept.add("fourth", "flooder")
    assert kept.make_room("new") == "second"
    kept.add("new", "new")
    assert sorted(kept) == ["new", "quiet", "third", "working"]


def test_a_flooder_is_not_protected_by_being_busy() -> None:
    kept, _, busy = make(limit=3)
    for name in ("a", "b", "c"):
        kept.add(name, "flooder")
    busy |= {"a", "b", "c"}
    assert kept.make_room("new") == "a"


def test_nobody_loses_a_session_to_somebody_with_as_many() -> None:
    kept, clock, _ = make(limit=2)
    kept.add("a", "one")
    kept.add("b", "two")
    assert kept.make_room("three") is None
    assert kept.make_room("one") is None
    clock.now = 59.0
    assert kept.make_room("one") is None
    assert sorted(kept) == ["a", "b"]


def test_a_busy_session_does_not_expire() -> None:
    kept, clock, busy = make()
    kept.add("working")
    kept.add("idle")
    busy.add("working")
    clock.now = 60
    assert kept.expire() == ["idle"]
    busy.clear()
    clock.now = 119
    assert kept.expire() == []
    clock.now = 120
    assert kept.expire() == ["working"]


def test_a_lifetime_of_zero_expires_at_once() -> None:
    kept, _, busy = make(lifetime=0)
    kept.add("working")
    busy.add("working")
    assert kept.expire() == []
    assert len(kept) == 1


def test_by_default_no_session_is_busy() -> None:
    kept: MemorySessions[str] = MemorySessions(1, 0)
    kept.add("a")
    assert kept.expire() == ["a"]


def test_a_session_may_bring_its_id() -> None:
    kept, clock, _ = make(lifetime=60)
    assert kept.add("a", id="x") == "x"
    clock.now = 59
    assert kept.peek("x") == "a"
    assert kept.peek("y") is None
    clock.now = 61
    # Looking at it is no use.
    assert kept.expire() == ["a"]


def test_the_least_recently_used_idle_session_is_removed_from_a_full_store() -> None:
    kept, _, busy = make(limit=2)
    first = kept.add("a")
    assert kept.remove_idle() is None
    kept.add("b")
    busy.add("a")
    kept.get(first)
    assert kept.remove_idle() == "b"
    kept.add("c")
    busy.add("c")
    assert kept.remove_idle() is None
