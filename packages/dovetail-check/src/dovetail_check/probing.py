"""Probes: they make the traffic that rules read. Each runs once per sitting where it fits.

    @probe("ping", era=Family.LEGACY)
    async def send_pings(talk: Talk) -> None:
        await talk.request("ping")
        await talk.request("ping", id="a string", variant="string-id")

What a probe sends is tagged with its name, a variant behind a slash: `ping/string-id`. It asserts
nothing and judges nothing. Gentle ones come first; those that a weak server may not survive come
late, each line after them is a new one if the old one is gone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from dovetail.errors import UsageError
from dovetail.spec.revisions import Family
from dovetail_check.personas import Persona
from dovetail_check.probe_client import ProbeClient

__all__ = ["Order", "Probe", "probe", "probes"]

Act: TypeAlias = Callable[[ProbeClient], Awaitable[None]]


class Order(IntEnum):
    """When a probe runs."""

    # Reads the lists; everything else may count on them.
    FIRST = 0
    GENTLE = 1
    # Sends what no client should.
    ROUGH = 2
    # Ends the session or the process.
    LAST = 3


class Probe(NamedTuple):
    """One probe and where it fits."""

    name: str
    act: Act
    order: Order
    # Only in this era.
    era: Family | None
    # Only over one of these: stdio, http, sse.
    transports: tuple[str, ...]
    # Only where the server declared this capability; empty: everywhere.
    needs: str
    persona: Persona
    # Whether it needs no conversation: it also runs where the server lets nobody in.
    at_door: bool = False
    # Whether it mostly talks over lines of its own: it runs beside the others.
    apart: bool = False
    # Whether it opens its line itself: it gets one that nobody has opened yet.
    opens: bool = False

    def fits(self, client: ProbeClient) -> bool:
        """Whether it makes sense in a sitting."""
        return (
            (self.era is None or self.era is client.revision.family)
            and client.at.transport in self.transports
            and (not self.needs or client.has(self.needs))
        )


probes: dict[str, Probe] = {}


def probe(  # noqa: PLR0913 - everything usual has a default, all by name
    name: str,
    *,
    order: Order = Order.GENTLE,
    era: Family | None = None,
    transports: tuple[str, ...] = ("stdio", "http", "sse"),
    needs: str = "",
    persona: Persona = Persona.BARE,
    at_door: bool = False,
    apart: bool = False,
    opens: bool = False,
) -> Callable[[Act], Act]:
    """Register a probe."""

    def register(act: Act) -> Act:
        if name in probes:
            raise UsageError(f"two probes called {name!r}")
        probes[name] = Probe(
            name, act, order, era, transports, needs, persona, at_door, apart, opens
        )
        return act

    return register
