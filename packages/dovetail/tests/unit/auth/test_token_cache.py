"""The cache of validated tokens."""

from __future__ import annotations

import time

import pytest

from dovetail.auth import oauth as module
from dovetail.auth.oauth import TokenCache
from dovetail.core.principal import Principal

ANNA = Principal("anna")


def test_a_token_is_cached_until_it_expires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    memory = TokenCache(60)
    memory.add(b"long", ANNA, now + 3600)
    memory.add(b"short", ANNA, now + 5)
    assert memory.find(b"long") is memory.find(b"short") is ANNA
    assert memory.find(b"other") is None
    now += 5
    assert memory.find(b"short") is None
    assert memory.find(b"long") is ANNA
    now += 55
    assert memory.find(b"long") is None


def test_tokens_are_stored_as_digests() -> None:
    memory = TokenCache(60)
    memory.add(b"a-secret-token", ANNA, time.time() + 60)
    assert b"a-secret-token" not in repr(memory.__dict__).encode()
    memory.clear()
    assert memory.find(b"a-secret-token") is None


def test_the_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_TOKENS", 3)
    memory = TokenCache(60)
    for number in range(10):
        memory.add(b"%d" % number, ANNA, time.time() + 60)
        assert len(memory._known) <= 3
