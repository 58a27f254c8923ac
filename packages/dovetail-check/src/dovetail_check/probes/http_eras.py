"""basic/transports/streamable-http, backward compatibility: what is left of the legacy era."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import LATEST_LEGACY, Family
from dovetail.wire import codec
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.personas import CLIENT_INFO
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.http_post import NO_SUCH_SESSION
from dovetail_check.probing import probe

__all__: list[str] = []

CLOSED_ID = "dovetail-check-closed"
_DISCOVER = "server/discover"


@probe("http-eras", era=Family.MODERN, transports=("http",))
async def speak_as_a_legacy_client(client: ProbeClient) -> None:
    """initialize: a handshake, which shows whether the server speaks to legacy clients at all.

    version-absent, session, last-event-id: server/discover with a header less or more. get,
    delete: the other verbs. cleanup: the session that the handshake opened is ended.
    """
    opened = await _shake_hands(client)
    await asyncio.gather(
        client.request(_DISCOVER, headers={"MCP-Protocol-Version": None}, variant="version-absent"),
        client.request(_DISCOVER, headers={"Mcp-Session-Id": NO_SUCH_SESSION}, variant="session"),
        client.request(_DISCOVER, headers={"Last-Event-ID": "1"}, variant="last-event-id"),
    )
    stream = await client.fetch("GET", variant="get", holds=True)
    if isinstance(client.line, HttpLine):
        await client.line.hang_up(stream)
    await client.fetch("DELETE", variant="delete")
    if opened is not None:
        await client.fetch("DELETE", headers={"Mcp-Session-Id": opened}, variant="cleanup")


async def _shake_hands(client: ProbeClient) -> str | None:
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
async def hang_up_on_a_subscription(client: ProbeClient) -> None:
    """Listen, close the stream, and look for traces of it on another one and behind a fence."""
    wanted = {"notifications": {"toolsListChanged": True}}
    line = client.line
    if not isinstance(line, HttpLine):
        return
    gone = await client.request("subscriptions/listen", wanted, id=CLOSED_ID, holds=True)
    await line.hang_up(gone)
    other = await client.request("subscriptions/listen", wanted, holds=True, variant="other")
    await client.request(_DISCOVER, variant="fence")
    await line.hang_up(other)
