"""server/utilities/pagination."""

from __future__ import annotations

import asyncio

from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.walk import LISTS
from dovetail_check.probing import probe

__all__: list[str] = []

NO_CURSOR = "dovetail-check-no-such-cursor"


@probe("cursors")
async def use_cursors(client: ProbeClient) -> None:
    """invalid/...: an unknown cursor. again/...: a valid cursor, used twice."""
    mine = [(method, member) for needed, method, member, _ in LISTS if client.has(needed)]
    await asyncio.gather(
        *(
            client.request(method, {"cursor": NO_CURSOR}, variant=f"invalid/{member}")
            for method, member in mine
        ),
        *(_use_twice(client, method, member) for method, member in mine),
    )


async def _use_twice(client: ProbeClient, method: str, member: str) -> None:
    first = await client.request(method, {}, variant=f"first/{member}")
    cursor = (first.result or {}).get("nextCursor")
    if isinstance(cursor, str):
        for _ in range(2):
            await client.request(method, {"cursor": cursor}, variant=f"again/{member}")
