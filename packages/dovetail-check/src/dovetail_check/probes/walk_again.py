"""Read the lists again after the gentle probes."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.walk import walk_all
from dovetail_check.probing import probe

__all__: list[str] = []


# The module sorts last, so this runs after the gentle probes of the others.
@probe("walk-again", era=Family.MODERN)
async def walk_lists_again(client: ProbeClient) -> None:
    """same/...: on the same connection; the variant ends in the member. `cold` uses a new one."""
    await walk_all(client, "same")
