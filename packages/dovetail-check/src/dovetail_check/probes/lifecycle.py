"""basic/lifecycle: what happens before the session is open."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.personas import Persona
from dovetail_check.probe_client import GRACE, ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("unopened", era=Family.LEGACY, persona=Persona.CAPABLE, opens=True)
async def take_time_to_open(client: ProbeClient) -> None:
    """early: a request before initialize. initialize: of a client that can do everything, and
    that takes its time to say it is ready."""
    # The process may have to start first, and it is not the only one.
    patience = GRACE + client.at.timeout / 5 + 2 * client.at.opening_seconds
    await client.request("tools/list", variant="early", timeout=patience)
    client.opening = await client.initialize(tag=f"{client.probe}/initialize")
    if client.opening.result is not None:
        await client.line.linger(GRACE)
        await client.notify("notifications/initialized", variant="initialized")
