"""basic/transports/streamable-http, backward compatibility: requests of legacy clients."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import LATEST_LEGACY, Family
from dovetail.wire import codec
from dovetail_check.calls import valid_calls
from dovetail_check.client_profiles import CLIENT_INFO
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.http_post import NO_SUCH_SESSION
from dovetail_check.probes.subscriptions import all_changes
from dovetail_check.probing import probe

__all__: list[str] = []

CLOSED_ID = "dovetail-check-closed"
_DISCOVER = "server/discover"


@probe("http-eras", era=Family.MODERN, transports=("http",))
async def act_as_a_legacy_client(client: ProbeClient) -> None:
    """initialize: a handshake, which shows whether the server supports legacy clients.

    version-absent, session, last-event-id: server/discover with a missing or additional header.
    get, delete: the other verbs. cleanup: end the session that the handshake opened.
    """
    opened = await _handshake(client)
    await asyncio.gather(
        client.request(_DISCOVER, headers={"MCP-Protocol-Version": None}, variant="version-absent"),
        client.request(_DISCOVER, headers={"Mcp-Session-Id": NO_SUCH_SESSION}, variant="session"),
        client.request(_DISCOVER, headers={"Last-Event-ID": "1"}, variant="last-event-id"),
    )
    stream = await client.fetch("GET", variant="get", keep_open=True)
    if isinstance(client.connection, HttpConnection):
        await client.connection.close_response(stream)
    await client.fetch("DELETE", variant="delete")
    if opened is not None:
        await client.fetch("DELETE", headers={"Mcp-Session-Id": opened}, variant="cleanup")


async def _handshake(client: ProbeClient) -> str | None:
    id = client.new_id()
    hello = {
        "protocolVersion": LATEST_LEGACY.date,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }
    message = {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": hello}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    exchange = await client.send(
        codec.encode(message), ids=(id,), headers=headers, variant="initialize"
    )
    return exchange.header("mcp-session-id")


@probe("http-hang-up", era=Family.MODERN, transports=("http",))
async def close_a_subscription(client: ProbeClient) -> None:
    """Listen, close the stream, then open another one and call tools to detect late messages."""
    wanted = {"notifications": all_changes(client)}
    connection = client.connection
    if not isinstance(connection, HttpConnection):
        return
    gone = await client.request("subscriptions/listen", wanted, id=CLOSED_ID, keep_open=True)
    await connection.close_response(gone)
    other = await client.request("subscriptions/listen", wanted, keep_open=True, variant="other")
    await asyncio.gather(
        *(client.request("tools/call", call, variant="calls") for call in valid_calls(client))
    )
    await client.request(_DISCOVER, variant="fence")
    await connection.close_response(other)
