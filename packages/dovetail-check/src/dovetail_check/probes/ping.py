"""basic/utilities/ping."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("ping", era=Family.LEGACY)
async def ping(client: ProbeClient) -> None:
    """Ping with ids of each kind."""
    await client.request("ping")
    await client.request("ping", id="dovetail-check", variant="string-id")


@probe("removed-ping", era=Family.MODERN)
async def ping_after_removal(client: ProbeClient) -> None:
    """ping, which the modern era does not have."""
    await client.request("ping")
