"""Ids are used once, and forgotten when they have expired."""

from __future__ import annotations

import pytest

from dovetail.core import replay
from dovetail.core.replay import MemoryUsedIds


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_id_is_used_once() -> None:
    store = MemoryUsedIds()
    assert store.use(b"a", 60)
    assert store.use(b"b", 60)
    assert not store.use(b"a", 60)


def test_expired_ids_are_forgotten() -> None:
    clock = Clock()
    store = MemoryUsedIds(clock=clock)
    assert store.use(b"a", 60)
    clock.now = 60.0
    assert store.use(b"a", 60)


def test_the_oldest_ids_are_forgotten_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replay, "_MAX_IDS", 2)
    store = MemoryUsedIds()
    for id in (b"a", b"b", b"c"):
        assert store.use(id, 60)
    assert store.use(b"a", 60)
    assert not store.use(b"c", 60)
