"""basic/versioning, and what basic/index says of statelessness and of `_meta` of requests."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.personas import CLIENT_INFO
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.walk import LISTS, walk_all
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_VERSION = "1900-01-01"


@probe("strange-version", era=Family.MODERN)
async def ask_in_a_version_that_never_was(client: ProbeClient) -> None:
    """discover, list: both say the version in header and body alike."""
    meta = {keys.PROTOCOL_VERSION: NO_SUCH_VERSION}
    headers = {"MCP-Protocol-Version": NO_SUCH_VERSION}
    methods = {"discover": "server/discover", "list": _list_method(client)}
    for variant, method in methods.items():
        await client.request(method, {}, meta=meta, headers=headers, variant=variant)


@probe("envelope", era=Family.MODERN)
async def leave_out_what_must_be_said(client: ProbeClient) -> None:
    """none: no `_meta` at all. no-version, no-capabilities: one of its members is missing."""
    method = "server/discover"
    await client.request(method, {}, envelope=False, variant="none")
    await client.request(method, {}, meta={keys.PROTOCOL_VERSION: None}, variant="no-version")
    await client.request(
        method, {}, meta={keys.CLIENT_CAPABILITIES: None}, variant="no-capabilities"
    )


@probe("many-clients", era=Family.MODERN)
async def be_many_at_once(client: ProbeClient) -> None:
    """The same list, all at once, each time as somebody else: nobody, us, other, long."""
    method = _list_method(client)
    clients: dict[str, Any] = {
        "us": CLIENT_INFO,
        "nobody": None,
        "other": {"name": "dovetail-check-other", "version": "0"},
        "long": {"name": "x" * 200, "version": "99.0.0", "title": "Another client"},
    }
    await asyncio.gather(
        *(
            client.request(method, {}, meta={keys.CLIENT_INFO: client}, variant=name)
            for name, client in clients.items()
        )
    )


@probe("cold", era=Family.MODERN, apart=True)
async def begin_in_the_middle(client: ProbeClient) -> None:
    """first: a list is the first thing asked on a new line. page-one: the same on the old line.
    page-two: what follows it, on the new one. lists/...: every list there, by member."""
    method = _list_method(client)
    async with client.another("cold", opened=False) as fresh:
        await fresh.request(method, {}, variant="first", timeout=fresh.at.start_timeout)
        page = await client.request(method, {}, variant="page-one")
        cursor = (page.result or {}).get("nextCursor")
        if isinstance(cursor, str):
            await fresh.request(method, {"cursor": cursor}, variant="page-two")
        await walk_all(fresh, "lists")


def _list_method(client: ProbeClient) -> str:
    for capability, method, _, _ in LISTS:
        if client.has(capability):
            return method
    return "server/discover"
