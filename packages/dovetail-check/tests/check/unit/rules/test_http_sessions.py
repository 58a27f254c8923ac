from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable

import pytest

from dovetail_check.rules.http_sessions import weakness_of


@pytest.mark.parametrize(
    "make",
    [
        lambda n: str(uuid.uuid4()),
        lambda n: uuid.uuid4().hex,
        lambda n: secrets.token_urlsafe(32),
        lambda n: f"server-1.{secrets.token_hex(16)}.end",
        # A timestamp first, as in UUIDv7, followed by enough random characters.
        lambda n: f"0190163d-8694-7{secrets.token_hex(2)[1:]}-{secrets.token_hex(8)}",
    ],
)
def test_random_ids_are_strong(make: Callable[[int], str]) -> None:
    assert weakness_of([make(n) for n in range(5)]) is None


@pytest.mark.parametrize(
    "make",
    [
        str,
        lambda n: f"a-very-long-and-safe-session-{n:08}",
        lambda n: f"{n:032x}",
        # Only the timestamp of a UUIDv1 changes.
        lambda n: f"{0x5B6A0000 + n * 977:08x}-9f3c-11ee-8c90-0242ac120002",
    ],
)
def test_sequential_ids_are_weak(make: Callable[[int], str]) -> None:
    weakness = weakness_of([make(n) for n in range(5)])
    assert weakness is not None
    assert "characters change" in weakness


def test_repeated_ids_are_weak() -> None:
    strong = secrets.token_urlsafe(32)
    assert weakness_of([strong, strong]) == (
        "2 sessions have 1 different ids; each must have its own"
    )
