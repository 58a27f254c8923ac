"""basic/transports, session management and the version header of the legacy era."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import LEGACY, Family
from dovetail_check.client_profiles import CLIENT_INFO
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.http_post import NO_SUCH_SESSION
from dovetail_check.probing import probe

__all__: list[str] = []

# The number of additional sessions, to compare their ids.
SESSIONS = 4
# Versions that do not exist.
NO_VERSIONS = ("dovetail-check", "1999-01-01", "2099-01-01")


@probe("http-sessions", era=Family.LEGACY, transports=("http",))
async def use_sessions(client: ProbeClient) -> None:
    """again: more sessions. missing: a request without a session id. fake: with an unknown id.

    delete: end the sessions. ended: a request in an ended session.
    """
    if client.session is None or client.revision.old_sse:
        # That revision has no Streamable HTTP, so no row needs it.
        return
    hello = {"protocolVersion": client.revision.date, "capabilities": {}, "clientInfo": CLIENT_INFO}
    opened = await asyncio.gather(
        *(
            client.request("initialize", hello, headers={"Mcp-Session-Id": None}, variant="again")
            for _ in range(SESSIONS)
        )
    )
    await asyncio.gather(
        client.request("ping", headers={"Mcp-Session-Id": None}, variant="missing"),
        client.request("ping", headers={"Mcp-Session-Id": NO_SUCH_SESSION}, variant="fake"),
    )
    ids = [id for exchange in opened if (id := exchange.header("mcp-session-id"))]
    # An id that is not a valid header value cannot be sent back.
    sendable = [id for id in ids if id.isascii() and id.isprintable() and id != client.session]
    await asyncio.gather(*(_delete(client, id) for id in sendable))
    for id in sendable[:1]:
        await client.request("ping", headers={"Mcp-Session-Id": id}, variant="ended")


async def _delete(client: ProbeClient, id: str) -> None:
    await client.fetch("DELETE", headers={"Mcp-Session-Id": id}, variant="delete")


@probe("http-version-header", era=Family.LEGACY, transports=("http",))
async def send_invalid_versions(client: ProbeClient) -> None:
    """invalid: versions that do not exist. absent: a request without the header. other: the other
    versions with a handshake and this header, whether the server accepted them or not.
    """
    if not client.revision.version_header:
        return
    await asyncio.gather(
        client.request("ping", headers={"MCP-Protocol-Version": None}, variant="absent"),
        *(
            client.request("ping", headers={"MCP-Protocol-Version": version}, variant="invalid")
            for version in NO_VERSIONS
        ),
        *(
            client.request(
                "ping", headers={"MCP-Protocol-Version": other.date}, variant=f"other/{other}"
            )
            for other in LEGACY
            if other is not client.revision and not other.old_sse
        ),
    )
