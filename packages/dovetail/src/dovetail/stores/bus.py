"""An event bus for changes: the interface and an in-memory implementation.

One process needs only a set of callbacks. Several processes need a broker behind the same
interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

__all__ = ["Bus", "MemoryBus"]

T = TypeVar("T")


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
