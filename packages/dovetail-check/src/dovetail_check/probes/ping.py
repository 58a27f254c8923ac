"""basic/utilities/ping."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.probing import probe
from dovetail_check.talk import Talk

__all__: list[str] = []


@probe("ping", era=Family.LEGACY)
async def ping(talk: Talk) -> None:
    """Ping with ids of each kind."""
    await talk.request("ping")
    await talk.request("ping", id="dovetail-check", variant="string-id")


@probe("removed-ping", era=Family.MODERN)
async def ping_where_it_is_gone(talk: Talk) -> None:
    """A method that the era no longer has."""
    await talk.request("ping")
