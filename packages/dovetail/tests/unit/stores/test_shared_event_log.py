"""Events in memory and in a store that other processes read."""

from __future__ import annotations

from typing import Any

from dovetail.stores.shared_event_log import SharedEventLog


class Recorder:
    """A store that records what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def begin(self, session: str, stream: str, requests: bytes) -> None:
        self.told.append(("begin", session, stream, requests))

    def append(
        self, session: str, stream: str, number: int, message: bytes, *, oldest: int
    ) -> None:
        self.told.append((number, message, oldest))

    def complete(self, session: str, stream: str) -> None:
        self.told.append(("complete", session, stream))

    def drop(self, session: str, stream: str) -> None:
        self.told.append(("drop", session, stream))

    async def read(self, session: str, stream: str, after: int) -> None:
        raise AssertionError("nothing is read here")


def test_events_are_stored_in_both_places_with_the_same_limit() -> None:
    store = Recorder()
    log = SharedEventLog("session", "a.1-1", 10, store, b"[1]")
    assert [log.append(message) for message in (b"12345678", b"12", b"345")] == [
        b"a.1-1_0",
        b"a.1-1_1",
        b"a.1-1_2",
    ]
    assert log.after(b"a.1-1_0") == [(b"a.1-1_1", b"12"), (b"a.1-1_2", b"345")]
    log.complete()
    log.drop()
    assert store.told == [
        ("begin", "session", "a.1-1", b"[1]"),
        (0, b"12345678", 0),
        (1, b"12", 0),
        (2, b"345", 1),
        ("complete", "session", "a.1-1"),
        ("drop", "session", "a.1-1"),
    ]
