"""The event bus of a server with several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.runtime.shared_bus import SharedBus
from dovetail.stores.cluster import MessageHandler


class FakeCluster:
    """Several nodes in this process: what one publishes, the others handle at once."""

    def __init__(self, *others: FakeCluster) -> None:
        self.others = others
        self.handlers: dict[str, MessageHandler] = {}
        self.reset: Callable[[], None] = lambda: None
        for other in others:
            other.others = (*other.others, self)

    def on_message(self, topic: str, handler: MessageHandler) -> None:
        self.handlers[topic] = handler

    def on_reset(self, handler: Callable[[], None]) -> None:
        self.reset = handler

    def publish(self, topic: str, message: bytes) -> None:
        for other in self.others:
            other.handlers[topic]("node", message)


def listen(cluster: Any) -> tuple[SharedBus, list[ChangeEvent]]:
    bus = SharedBus(cluster)
    heard: list[ChangeEvent] = []
    bus.subscribe(heard.append)
    return bus, heard


def test_a_change_is_heard_once_in_every_process() -> None:
    first = FakeCluster()
    bus, heard = listen(first)
    _, far = listen(FakeCluster(first))
    changes = [ChangeEvent(ChangeKind.TOOLS), ChangeEvent(ChangeKind.RESOURCE, "file:///ä")]
    for change in changes:
        bus.publish(change)
    assert heard == far == changes


def test_after_a_loss_the_clients_of_this_process_look_again() -> None:
    first = FakeCluster()
    _, heard = listen(first)
    _, far = listen(FakeCluster(first))
    first.reset()
    assert {each.what for each in heard} >= {
        ChangeKind.TOOLS,
        ChangeKind.PROMPTS,
        ChangeKind.RESOURCES,
        ChangeKind.RESOURCE,
    }
    assert far == []
