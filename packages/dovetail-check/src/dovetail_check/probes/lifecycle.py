"""basic/lifecycle: what happens before the session is open."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.personas import Persona
from dovetail_check.probing import probe
from dovetail_check.talk import GRACE, Talk

__all__: list[str] = []


@probe("unopened", era=Family.LEGACY, persona=Persona.CAPABLE, opens=True)
async def take_time_to_open(talk: Talk) -> None:
    """early: a request before initialize. initialize: of a client that can do everything, and
    that takes its time to say it is ready."""
    # The process may have to start first, and it is not the only one.
    patience = GRACE + talk.at.timeout / 5 + 2 * talk.at.opening_seconds
    await talk.request("tools/list", variant="early", timeout=patience)
    talk.opening = await talk.initialize(tag=f"{talk.probe}/initialize")
    if talk.opening.result is not None:
        await talk.line.linger(GRACE)
        await talk.notify("notifications/initialized", variant="initialized")
