"""basic/transports, Streamable HTTP with sessions: the streams that GET opens."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.probing import Order, probe
from dovetail_check.talk import Talk

__all__: list[str] = []


@probe("http-get", order=Order.FIRST, era=Family.LEGACY, transports=("http",))
async def listen(talk: Talk) -> None:
    """Open the stream of the session and leave it open: what comes there is for every rule."""
    await talk.fetch("GET", holds=True)
    # Time for what a server says at once.
    await talk.fence()


@probe("http-get-twice", era=Family.LEGACY, transports=("http",))
async def listen_twice(talk: Talk) -> None:
    """A second stream beside the first for a moment; a server may refuse it."""
    if talk.revision.old_sse:
        # Streamable HTTP is not of that revision, so no row asks.
        return
    second = await talk.fetch("GET", holds=True)
    await talk.fence()
    if isinstance(talk.line, HttpLine):
        await talk.line.hang_up(second)
