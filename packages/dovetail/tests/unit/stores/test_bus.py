"""The bus of one process: everybody hears everything, until they leave."""

from __future__ import annotations

from dovetail.stores.bus import MemoryBus


def test_everybody_hears_every_event_in_order() -> None:
    bus: MemoryBus[int] = MemoryBus()
    first: list[int] = []
    second: list[int] = []
    bus.subscribe(first.append)
    bus.publish(1)
    bus.subscribe(second.append)
    bus.publish(2)
    assert (first, second) == ([1, 2], [2])


def test_who_leaves_hears_no_more_and_may_leave_twice() -> None:
    bus: MemoryBus[int] = MemoryBus()
    gone: list[int] = []
    stays: list[int] = []
    leave = bus.subscribe(gone.append)
    bus.subscribe(stays.append)
    leave()
    leave()
    bus.publish(1)
    assert (gone, stays) == ([], [1])


def test_one_may_leave_or_join_while_an_event_is_told() -> None:
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


def test_nobody_listens_and_nothing_happens() -> None:
    MemoryBus[int]().publish(1)
