"""The bus that carries changes to whoever listens: an interface and the embedded default.

One process needs no more than a set of callbacks. Several processes need something
between them, on this same interface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

__all__ = ["Bus", "MemoryBus"]

T = TypeVar("T")


class Bus(Protocol[T]):
    """Carries events from whoever publishes to whoever subscribed."""

    def publish(self, event: T) -> None:
        """Tell all subscribers; safe from any thread."""

    def subscribe(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """Call `listener` for every event until the returned function is called."""


class MemoryBus(Generic[T]):
    """The bus of a single process."""

    def __init__(self) -> None:
        self._listeners: dict[int, Callable[[T], None]] = {}
        self._next = 0

    def publish(self, event: T) -> None:
        """Tell all subscribers; each decides on which thread it deals with the event."""
        # A copy: others may subscribe or leave meanwhile, also from other threads.
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
