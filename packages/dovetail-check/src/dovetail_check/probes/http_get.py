"""basic/transports, Streamable HTTP with sessions: the streams that GET opens."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import Order, probe

__all__: list[str] = []


@probe("http-get", order=Order.FIRST, era=Family.LEGACY, transports=("http",))
async def listen(client: ProbeClient) -> None:
    """Open the stream of the session and leave it open: what comes there is for every rule."""
    await client.fetch("GET", holds=True)
    # Time for what a server says at once.
    await client.fence()


@probe("http-get-twice", era=Family.LEGACY, transports=("http",))
async def listen_twice(client: ProbeClient) -> None:
    """A second stream beside the first for a moment; a server may refuse it."""
    if client.revision.old_sse:
        # Streamable HTTP is not of that revision, so no row asks.
        return
    second = await client.fetch("GET", holds=True)
    await client.fence()
    if isinstance(client.line, HttpLine):
        await client.line.hang_up(second)
