"""basic/lifecycle: requests before the session is initialized."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.client_profiles import ClientProfile
from dovetail_check.probe_client import GRACE, ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("unopened", era=Family.LEGACY, profile=ClientProfile.FULL, opens_connection=True)
async def initialize_slowly(client: ProbeClient) -> None:
    """early: a request before initialize. initialize: with all capabilities, and with a delay
    before notifications/initialized."""
    # The process may have to start first, beside others.
    patience = GRACE + client.context.timeout / 5 + 2 * client.context.opening_seconds
    await client.request("tools/list", variant="early", timeout=patience)
    client.opening = await client.initialize(tag=f"{client.probe}/initialize")
    if client.opening.result is not None:
        await client.connection.keep_listening(GRACE)
        await client.notify("notifications/initialized", variant="initialized")
