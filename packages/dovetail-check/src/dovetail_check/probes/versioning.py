"""basic/versioning; statelessness and `_meta` of requests in basic/index."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.client_profiles import CLIENT_INFO
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.walk import LISTS, walk_all
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_VERSION = "1900-01-01"


@probe("strange-version", era=Family.MODERN)
async def send_an_unknown_version(client: ProbeClient) -> None:
    """discover, list: an unknown version in header and body."""
    meta = {keys.PROTOCOL_VERSION: NO_SUCH_VERSION}
    headers = {"MCP-Protocol-Version": NO_SUCH_VERSION}
    methods = {"discover": "server/discover", "list": _list_method(client)}
    for variant, method in methods.items():
        await client.request(method, {}, meta=meta, headers=headers, variant=variant)


@probe("envelope", era=Family.MODERN)
async def omit_required_meta(client: ProbeClient) -> None:
    """none: no `_meta`. no-version, no-capabilities: one of its members is missing."""
    method = "server/discover"
    await client.request(method, {}, envelope=False, variant="none")
    await client.request(method, {}, meta={keys.PROTOCOL_VERSION: None}, variant="no-version")
    await client.request(
        method, {}, meta={keys.CLIENT_CAPABILITIES: None}, variant="no-capabilities"
    )


@probe("many-clients", era=Family.MODERN)
async def act_as_several_clients(client: ProbeClient) -> None:
    """The same list concurrently with different clientInfo: nobody, us, other, long, unicode."""
    method = _list_method(client)
    clients: dict[str, Any] = {
        "us": CLIENT_INFO,
        "nobody": None,
        "other": {"name": "dovetail-check-other", "version": "0"},
        "unicode": {"name": "\u6f22\u5b57 \u2713", "version": ""},
        "long": {"name": "x" * 200, "version": "99.0.0", "title": "Another client"},
    }
    await asyncio.gather(
        *(
            client.request(method, {}, meta={keys.CLIENT_INFO: info}, variant=name)
            for name, info in clients.items()
        )
    )


@probe("cold", era=Family.MODERN, concurrent=True)
async def start_without_opening(client: ProbeClient) -> None:
    """first: a list is the first request on a new connection. page-one: the same on the main
    connection. page-two: the next page, on the new one. lists/...: every list there, by member. If
    they differ from the first ones, each of two more connections reads them twice: one/first/...,
    one/again/..., two/first/..., two/again/...
    """
    method = _list_method(client)
    async with client.open_client("cold", opened=False) as fresh:
        await fresh.request(method, {}, variant="first", timeout=fresh.context.start_timeout)
        page = await client.request(method, {}, variant="page-one")
        cursor = (page.result or {}).get("nextCursor")
        if isinstance(cursor, str):
            await fresh.request(method, {"cursor": cursor}, variant="page-two")
        found = await walk_all(fresh, "lists")
    catalogue = client.catalogue
    before = [
        *(*catalogue.tools, *catalogue.prompts),
        *(*catalogue.resources, *catalogue.resource_templates),
    ]
    if sorted(map(repr, found)) != sorted(map(repr, before)):
        for name in ("one", "two"):
            async with client.open_client(f"cold {name}", opened=False) as other:
                await walk_all(other, f"{name}/first")
                await walk_all(other, f"{name}/again")


def _list_method(client: ProbeClient) -> str:
    for capability, method, _, _ in LISTS:
        if client.has(capability):
            return method
    return "server/discover"
