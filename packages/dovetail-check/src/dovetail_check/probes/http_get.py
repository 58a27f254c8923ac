"""basic/transports, Streamable HTTP with sessions: GET streams."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import Order, probe

__all__: list[str] = []


@probe("http-get", order=Order.FIRST, era=Family.LEGACY, transports=("http",))
async def listen(client: ProbeClient) -> None:
    """Open the GET stream of the session and keep it open for all rules."""
    await client.fetch("GET", keep_open=True)
    # Time for messages that the server sends at once.
    await client.fence()


@probe("http-get-twice", era=Family.LEGACY, transports=("http",))
async def listen_twice(client: ProbeClient) -> None:
    """Open a second stream beside the first for a moment. A server may reject it."""
    if client.revision.old_sse:
        # That revision has no Streamable HTTP, so no row needs it.
        return
    second = await client.fetch("GET", keep_open=True)
    await client.fence()
    if isinstance(client.connection, HttpConnection):
        await client.connection.close_response(second)
