"""basic/transports, session management and the version header of the legacy era."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import Family
from dovetail_check.personas import CLIENT_INFO
from dovetail_check.probes.http_post import NO_SUCH_SESSION
from dovetail_check.probing import probe
from dovetail_check.talk import Talk

__all__: list[str] = []

# Sessions opened beside the main one, to compare their ids.
SESSIONS = 4
# Versions that no server can speak.
NO_VERSIONS = ("dovetail-check", "1999-01-01", "2099-01-01")


@probe("http-sessions", era=Family.LEGACY, transports=("http",))
async def use_sessions(talk: Talk) -> None:
    """again: more sessions. missing: a request without one. fake: with an id never given out.

    delete: the sessions are ended. ended: a request in one that was.
    """
    if talk.session is None or talk.revision.old_sse:
        # Streamable HTTP is not of that revision, so no row asks.
        return
    hello = {"protocolVersion": talk.revision.date, "capabilities": {}, "clientInfo": CLIENT_INFO}
    opened = await asyncio.gather(
        *(
            talk.request("initialize", hello, headers={"Mcp-Session-Id": None}, variant="again")
            for _ in range(SESSIONS)
        )
    )
    await asyncio.gather(
        talk.request("ping", headers={"Mcp-Session-Id": None}, variant="missing"),
        talk.request("ping", headers={"Mcp-Session-Id": NO_SUCH_SESSION}, variant="fake"),
    )
    ids = [id for exchange in opened if (id := exchange.header("mcp-session-id"))]
    # An id that is no header value cannot be sent back.
    sendable = [id for id in ids if id.isascii() and id.isprintable() and id != talk.session]
    await asyncio.gather(*(_delete(talk, id) for id in sendable))
    for id in sendable[:1]:
        await talk.request("ping", headers={"Mcp-Session-Id": id}, variant="ended")


async def _delete(talk: Talk, id: str) -> None:
    await talk.fetch("DELETE", headers={"Mcp-Session-Id": id}, variant="delete")


@probe("http-version-header", era=Family.LEGACY, transports=("http",))
async def name_other_versions(talk: Talk) -> None:
    """invalid: versions that cannot be. absent: a request without the header."""
    if not talk.revision.version_header:
        return
    await asyncio.gather(
        talk.request("ping", headers={"MCP-Protocol-Version": None}, variant="absent"),
        *(
            talk.request("ping", headers={"MCP-Protocol-Version": version}, variant="invalid")
            for version in NO_VERSIONS
        ),
    )
