"""The in-memory event bus."""

from __future__ import annotations

from dovetail.runtime.bus import MemoryBus


def test_all_subscribers_get_all_events_in_order() -> None:
    bus: MemoryBus[int] = MemoryBus()
    first: list[int] = []
    second: list[int] = []
    bus.subscribe(first.append)
    bus.publish(1)
    bus.subscribe(second.append)
    bus.publish(2)
    assert (first, second) == ([1, 2], [2])


def test_unsubscribing_stops_events_and_may_be_repeated() -> None:
    bus: MemoryBus[int] = MemoryBus()
    gone: list[int] = []
    stays: list[int] = []
    leave = bus.subscribe(gone.append)
    bus.subscribe(stays.append)
    leave()
    leave()
    bus.publish(1)
    assert (gone, stays) == ([], [1])


def test_subscribers_may_change_during_an_event() -> None:
    bus: MemoryBus[int] = MemoryBus()
    heard: list[str] = []

    def once(event: int) -> None:
        heard.append(f"once {event}")
        leave()
        bus.subscribe(lambda event: heard.append(f"late {event}"))

    leave = bus.subscribe(once)
    bus.subscribe(lambda event: heard.append(f"other {event}"))
    bus.publish(1)
    bus.publish(2)
    assert heard == ["once 1", "other 1", "other 2", "late 2"]


def test_publishing_without_subscribers_does_nothing() -> None:
    MemoryBus[int]().publish(1)
