"""The event bus of a server: changes reach its clients, also those of other processes.

One process needs only a set of callbacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.runtime.processes import Processes
from dovetail.wire import codec

__all__ = ["Bus", "MemoryBus", "SharedBus"]

T = TypeVar("T")

_TOPIC = "change"
# What may have changed while messages of other processes were lost.
_MAY_HAVE_CHANGED = (
    ChangeKind.TOOLS,
    ChangeKind.PROMPTS,
    ChangeKind.RESOURCES,
    ChangeKind.RESOURCE,
)


class Bus(Protocol[T]):
    """Delivers events from publishers to subscribers."""

    def publish(self, event: T) -> None:
        """Call all subscribers; safe from any thread."""

    def subscribe(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """Call `listener` for every event until the returned function is called."""


class MemoryBus(Generic[T]):
    """An event bus within one process."""

    def __init__(self) -> None:
        self._listeners: dict[int, Callable[[T], None]] = {}
        self._next = 0

    def publish(self, event: T) -> None:
        """Call all subscribers in this thread."""
        # A copy: other threads may subscribe or unsubscribe meanwhile.
        for listener in tuple(self._listeners.values()):
            listener(event)

    def subscribe(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """Call `listener` for every event until the returned function is called."""
        self._next += 1
        number = self._next
        self._listeners[number] = listener

        def unsubscribe() -> None:
            self._listeners.pop(number, None)

        return unsubscribe


class _Change(Struct, omit_defaults=True):
    what: str
    uri: str | None = None


class SharedBus:
    """Publishes changes in this process and in all others."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._local: MemoryBus[ChangeEvent] = MemoryBus()
        processes.on_message(_TOPIC, self._receive, own=True)
        processes.on_lost(self._look_again)

    def publish(self, event: ChangeEvent) -> None:
        """Call all subscribers, those of other processes too."""
        # The store of items tells other processes of them, in the step in which it saves them.
        if event.item is not None or event.is_local or not self._processes.is_open:
            self._local.publish(event)
        else:
            # Comes back to this process too. In the log it is behind the subscriptions that other
            # processes have acknowledged, which this one may not have read yet.
            change = _Change(event.what.value, event.uri)
            self._processes.publish(_TOPIC, codec.encode(change))

    def subscribe(self, listener: Callable[[ChangeEvent], None]) -> Callable[[], None]:
        """Call `listener` for every event until the returned function is called."""
        return self._local.subscribe(listener)

    def _receive(self, _node: str, message: bytes) -> None:
        change = codec.decode_as(_Change, message)
        self._local.publish(ChangeEvent(ChangeKind(change.what), change.uri))

    def _look_again(self) -> None:
        for what in _MAY_HAVE_CHANGED:
            self._local.publish(ChangeEvent(what))
