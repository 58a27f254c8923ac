"""basic/index: ids, notifications, `_meta`."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.wire import codec
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.walk import LISTS
from dovetail_check.probing import probe

__all__: list[str] = []

# Far above the ids that the client counts up to, so none is used twice. A string equal to a
# number shows whether the server keeps the type.
IDS: dict[str, Any] = {
    "number": 9_000_001,
    "same-as-string": "9000001",
    "negative": -9_000_002,
    "large": 9_007_199_254_740_991,
    # A double cannot represent it, so a server that parses ids as doubles changes it.
    "beyond-double": 9_007_199_254_740_993,
    "unicode": "dovetail-check é✓",
}
TWIN = "same-as-string"


@probe("ids")
async def use_ids_of_each_kind(client: ProbeClient) -> None:
    """Harmless requests with each kind of id, which is also the variant: ping or server/discover,
    then a list."""
    lists = [method for needed, method, _, _ in LISTS if client.has(needed)]
    kinds = [kind for kind in IDS if kind != TWIN]
    for method in ["server/discover" if client.is_modern else "ping", *lists[:1]]:
        await asyncio.gather(
            *(client.request(method, id=IDS[kind], variant=kind) for kind in kinds)
        )
        # Sent alone: a server that confuses it with the number would fail only sometimes if both
        # were in flight, and the verdict would depend on timing.
        await client.request(method, id=IDS[TWIN], variant=TWIN)


@probe("notices")
async def send_notifications(client: ProbeClient) -> None:
    """unknown: an unknown notification. A response to it would have no id to match."""
    message = {"jsonrpc": "2.0", "method": "notifications/dovetail-check-unknown"}
    headers = client.headers_for(message["method"])
    await client.send_lenient(codec.encode(message), variant="unknown", headers=headers)


@probe("meta-keys")
async def send_a_vendor_key(client: ProbeClient) -> None:
    """again: the first page of a list, as in the walk probe. vendor-key: the same with a vendor key
    in `_meta`."""
    for capability, method, _, _ in LISTS:
        if client.has(capability):
            key = {"com.example.dovetail-check/note": {"anything": [1, None]}}
            await client.request(method, {}, variant="again")
            await client.request(method, {}, meta=key, variant="vendor-key")
            return
