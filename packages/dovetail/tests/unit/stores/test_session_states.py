"""Session state in memory: limits and expiry."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from dovetail.errors import LimitError
from dovetail.stores.session_states import MemorySessionStates

T = TypeVar("T")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def put(
    store: MemorySessionStates,
    owner: str,
    key: str = "key",
    value: bytes = b"1",
    *,
    lifetime: float | None = None,
    max_bytes: int = 10_000,
) -> None:
    run(store.set(owner, key, value, lifetime=lifetime, max_bytes=max_bytes))


def test_values_belong_to_one_owner_and_can_be_removed() -> None:
    store = MemorySessionStates()
    put(store, "anna", value=b"1")
    put(store, "bert", value=b"2")
    assert run(store.get("anna", "key")) == b"1"
    assert run(store.get("anna", "other")) is None
    run(store.delete("anna", "key"))
    run(store.delete("anna", "key"))
    assert run(store.get("anna", "key")) is None
    store.forget("bert")
    store.forget("bert")
    assert run(store.get("bert", "key")) is None


def test_an_owner_has_a_limit_for_keys_and_values_together() -> None:
    store = MemorySessionStates()
    put(store, "anna", "a", b"x" * 300, max_bytes=500)
    for key, value in (("b", b"x" * 100), ("a", b"x" * 400), ("k" * 100, b"")):
        with pytest.raises(LimitError, match="over its limit of 500 bytes"):
            put(store, "anna", key, value, max_bytes=500)
    assert run(store.get("anna", "a")) == b"x" * 300
    # Replacing a value frees its space.
    put(store, "anna", "a", b"y", max_bytes=500)
    put(store, "anna", "b", b"x" * 100, max_bytes=500)
    with pytest.raises(LimitError):
        for number in range(100):
            put(store, "bert", f"{number}", b"", max_bytes=500)


def test_beyond_the_total_the_least_recently_used_owner_is_dropped() -> None:
    store = MemorySessionStates(1000)
    for owner in ("anna", "bert", "cleo"):
        put(store, owner, value=b"x" * 200)
    assert run(store.get("anna", "key"))
    put(store, "dora", value=b"x" * 200)
    found = {owner: run(store.get(owner, "key")) is not None for owner in ("anna", "bert", "cleo")}
    assert found == {"anna": True, "bert": False, "cleo": True}
    # What was dropped or removed is no longer counted.
    for owner in ("anna", "cleo", "dora"):
        run(store.delete(owner, "key"))
    put(store, "bert", value=b"x" * 800)
    assert run(store.get("bert", "key"))


def test_values_expire_after_their_last_use() -> None:
    clock = Clock()
    store = MemorySessionStates(clock=clock)
    put(store, "anna", lifetime=10.0)
    put(store, "session")
    for _ in range(3):
        clock.now += 9.0
        assert run(store.get("anna", "key")) == b"1"
    clock.now += 10.0
    assert run(store.get("anna", "key")) is None
    assert run(store.get("session", "key")) == b"1"
