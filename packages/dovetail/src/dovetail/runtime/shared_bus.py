"""The event bus of a server with several processes: changes reach the clients of all of them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.runtime.processes import Processes
from dovetail.stores.bus import MemoryBus
from dovetail.wire import codec

__all__ = ["SharedBus"]

_TOPIC = "change"
# What may have changed while messages of other processes were lost.
_MAY_HAVE_CHANGED = (
    ChangeKind.TOOLS,
    ChangeKind.PROMPTS,
    ChangeKind.RESOURCES,
    ChangeKind.RESOURCE,
)


class _Change(Struct, omit_defaults=True):
    what: str
    uri: str | None = None


class SharedBus:
    """Publishes changes in this process and in all others."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._local: MemoryBus[ChangeEvent] = MemoryBus()
        processes.on_message(_TOPIC, self._receive)
        processes.on_lost(self._look_again)

    def publish(self, event: ChangeEvent) -> None:
        """Call all subscribers in this thread, and those of other processes."""
        self._local.publish(event)
        # The store of items tells other processes of them, in the step in which it saves them.
        if event.item is None and not event.is_local:
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
