"""basic/index: ids, notifications, `_meta`."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.wire import codec
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.walk import LISTS
from dovetail_check.probing import probe

__all__: list[str] = []

# Far above what the line counts up to, so that none is used twice. A string next to its number
# shows whether the type is kept.
IDS: dict[str, Any] = {
    "number": 9_000_001,
    "same-as-string": "9000001",
    "negative": -9_000_002,
    "large": 9_007_199_254_740_991,
    "unicode": "dovetail-check é✓",
}
TWIN = "same-as-string"


@probe("ids")
async def use_ids_of_each_kind(client: ProbeClient) -> None:
    """The same harmless request with one id after the other; the variant is the kind of id."""
    method = "server/discover" if client.is_modern else "ping"
    kinds = [kind for kind in IDS if kind != TWIN]
    await asyncio.gather(*(client.request(method, id=IDS[kind], variant=kind) for kind in kinds))
    # Alone: a server that takes it for the number mixes the two up if both are under way, but only
    # sometimes, and a verdict that depends on who is faster is none.
    await client.request(method, id=IDS[TWIN], variant=TWIN)


@probe("notices")
async def send_notifications(client: ProbeClient) -> None:
    """unknown: a notification that nobody knows. Its answer, if any, has no id to know it by."""
    message = {"jsonrpc": "2.0", "method": "notifications/dovetail-check-unknown"}
    headers = client.headers_for(message["method"])
    await client.venture(codec.encode(message), variant="unknown", headers=headers)


@probe("meta-keys")
async def send_a_key_of_ours(client: ProbeClient) -> None:
    """again: the first page of a list as the walk asked for it. vendor-key: the same, with a key
    of a vendor in `_meta`."""
    for capability, method, _, _ in LISTS:
        if client.has(capability):
            key = {"com.example.dovetail-check/note": {"anything": [1, None]}}
            await client.request(method, {}, variant="again")
            await client.request(method, {}, meta=key, variant="vendor-key")
            return
