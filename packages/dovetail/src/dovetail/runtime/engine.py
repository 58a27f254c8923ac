"""The parts of a server that all its connections share."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.core.call import Host, Runner
from dovetail.core.changes import ChangeEvent
from dovetail.core.dispatch import Dispatcher
from dovetail.core.link import SessionStateStore
from dovetail.core.options import Options
from dovetail.core.principal import Permission
from dovetail.eras.select import Eras
from dovetail.runtime.lifespan import Lifespan
from dovetail.runtime.state import ServerState
from dovetail.stores.bus import Bus
from dovetail.stores.shared_stores import SharedStores

__all__ = ["Engine"]


class Engine(NamedTuple):
    """The parts of a server that serve requests; the `Services` of its calls."""

    eras: Eras
    dispatcher: Dispatcher
    runner: Runner
    host: Host
    bus: Bus[ChangeEvent]
    lifespan: Lifespan
    options: Options
    tasks: Any
    state: ServerState
    # The stores of a cluster on Redis.
    shared: SharedStores | None = None
    # What the guard of a transport allows to all its callers.
    permission: Permission | None = None

    @property
    def session_states(self) -> SessionStateStore:
        """The values that handlers keep for callers."""
        return self.state.session_states
