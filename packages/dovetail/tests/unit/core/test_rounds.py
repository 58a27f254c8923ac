"""Rounds are used once, and forgotten when they have expired."""

from __future__ import annotations

import pytest

from dovetail.core import rounds
from dovetail.core.rounds import MemoryRounds


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_round_is_used_once() -> None:
    store = MemoryRounds()
    assert store.use(b"a", 60)
    assert store.use(b"b", 60)
    assert not store.use(b"a", 60)


def test_expired_rounds_are_forgotten() -> None:
    clock = Clock()
    store = MemoryRounds(clock=clock)
    assert store.use(b"a", 60)
    clock.now = 60.0
    assert store.use(b"a", 60)


def test_the_oldest_rounds_are_forgotten_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "_MAX_ROUNDS", 2)
    store = MemoryRounds()
    for id in (b"a", b"b", b"c"):
        assert store.use(id, 60)
    assert store.use(b"a", 60)
    assert not store.use(b"c", 60)
