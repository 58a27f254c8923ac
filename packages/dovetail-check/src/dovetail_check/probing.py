"""Probes: functions that send the traffic that rules read. Each runs once per session.

    @probe("ping", era=Family.LEGACY)
    async def send_pings(client: ProbeClient) -> None:
        await client.request("ping")
        await client.request("ping", id="a string", variant="string-id")

Frames are tagged with the name of the probe and a variant: `ping/string-id`. A probe does not
evaluate replies. Probes that a fragile server may not survive run late; if the connection is gone
afterwards, the next probe gets a new one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from dovetail.errors import UsageError
from dovetail.spec.revisions import Family
from dovetail_check.client_profiles import ClientProfile
from dovetail_check.probe_client import ProbeClient

__all__ = ["Order", "Probe", "probe", "probes"]

ProbeFunction: TypeAlias = Callable[[ProbeClient], Awaitable[None]]


class Order(IntEnum):
    """When a probe runs."""

    # Reads the lists that other probes rely on.
    FIRST = 0
    GENTLE = 1
    # Sends invalid data.
    ROUGH = 2
    # Ends the session or the process.
    LAST = 3


class Probe(NamedTuple):
    """One probe and the sessions it applies to."""

    name: str
    run: ProbeFunction
    order: Order
    # Only in this era.
    era: Family | None
    # Only over one of these: stdio, http, sse.
    transports: tuple[str, ...]
    # Only if the server declared this capability; empty: always.
    needs: str
    profile: ClientProfile
    # Whether it also runs if the server rejects every unauthenticated request.
    pre_auth: bool = False
    # Whether it runs concurrently with the other probes, mostly on its own connections.
    concurrent: bool = False
    # Whether it sends the opening request itself.
    opens_connection: bool = False

    def applies_to(self, client: ProbeClient) -> bool:
        """Whether it applies to the session of a client."""
        return (
            (self.era is None or self.era is client.revision.family)
            and client.context.transport in self.transports
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
    profile: ClientProfile = ClientProfile.MINIMAL,
    pre_auth: bool = False,
    concurrent: bool = False,
    opens_connection: bool = False,
) -> Callable[[ProbeFunction], ProbeFunction]:
    """Register a probe."""

    def register(run: ProbeFunction) -> ProbeFunction:
        if name in probes:
            raise UsageError(f"two probes are registered as {name!r}")
        probes[name] = Probe(
            name,
            run,
            order,
            era,
            transports,
            needs,
            profile,
            pre_auth,
            concurrent,
            opens_connection,
        )
        return run

    return register
