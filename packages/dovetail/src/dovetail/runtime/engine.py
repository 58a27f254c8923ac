"""What every connection of one server shares."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.core.call import Call, Host, Origin, Outbox, Runner
from dovetail.core.dispatch import Dispatcher
from dovetail.core.options import Options
from dovetail.core.permission import Permission
from dovetail.core.principal import Principal
from dovetail.core.tasks import KeptTasks
from dovetail.eras.select import Eras
from dovetail.features.subscriptions import ChangeEvent
from dovetail.runtime.lifespan import Lifespan
from dovetail.stores.bus import Bus

__all__ = ["Engine"]


class Engine(NamedTuple):
    """The parts of a server that serve requests."""

    eras: Eras
    dispatcher: Dispatcher
    runner: Runner
    host: Host
    bus: Bus[ChangeEvent]
    lifespan: Lifespan
    options: Options
    tasks: KeptTasks
    # What the guard of a transport says of all its callers.
    permission: Permission | None = None

    def equip(
        self, call: Call, outbox: Outbox, link: Any, origin: Origin, principal: Principal | None
    ) -> None:
        """Give a call the means to run."""
        call.services = self
        call.outbox = outbox
        call.link = link
        call.origin = origin
        call.principal = principal
