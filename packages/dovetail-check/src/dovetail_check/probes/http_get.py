"""basic/transports, Streamable HTTP with sessions: GET streams."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
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
    """Open a second stream beside the first, and call tools meanwhile: their messages may go to
    one stream only. A server may reject the second stream."""
    if client.revision.old_sse:
        # That revision has no Streamable HTTP, so no row needs it.
        return
    second = await client.fetch("GET", keep_open=True)
    for uri in [item.get("uri") for item in client.catalogue.resources][:1]:
        if client.has("resources.subscribe") and isinstance(uri, str):
            await client.request("resources/subscribe", {"uri": uri}, variant="subscribe")
    await asyncio.gather(
        *(client.request("tools/call", call, variant="calls") for call in valid_calls(client))
    )
    await client.fence()
    if isinstance(client.connection, HttpConnection):
        await client.connection.close_response(second)
