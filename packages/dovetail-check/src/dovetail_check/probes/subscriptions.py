"""basic/patterns/subscriptions."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec.revisions import Family
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.server_requests import triggering_requests

__all__ = ["all_changes"]

TEXT_ID = "dovetail-check-subscription"
_LISTEN = "subscriptions/listen"
_LISTS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
_MAX_URIS = 3
# Seconds to wait for an acknowledgement, and between two polls.
_TIMEOUT = 2.0
_POLL_INTERVAL = 0.01
_OVER = ("ended", "failed", "closed", "silence")


@probe("subscriptions", era=Family.MODERN)
async def listen_to_changes(client: ProbeClient) -> None:
    """Streams that stay open for as long as the connection.

    everything: all types and some resources. text-id: the same with a string id. nothing: an empty
    filter. calls: tool calls meanwhile, which may change something. removed/...:
    resources/subscribe and resources/unsubscribe.
    """
    everything = all_changes(client)
    uris = everything["resourceSubscriptions"]
    opened = [
        await _listen(client, everything, "everything"),
        await _listen(client, everything, "text-id", TEXT_ID),
        await _listen(client, {}, "nothing"),
    ]
    seconds = client.context.patience(_TIMEOUT)
    await asyncio.gather(*(_wait_for_message(exchange, seconds) for exchange in opened))
    await asyncio.gather(
        *(client.request(*one, variant="calls") for one in triggering_requests(client))
    )
    for method in ("resources/subscribe", "resources/unsubscribe"):
        params = {"uri": uris[0] if uris else "dovetail-check-none://resource"}
        await client.request(method, params, variant=f"removed/{method}")


def all_changes(client: ProbeClient) -> dict[str, Any]:
    """A filter with all types of changes and some resources."""
    uris = [item["uri"] for item in client.catalogue.resources if isinstance(item.get("uri"), str)]
    return {**dict.fromkeys(_LISTS, True), "resourceSubscriptions": uris[:_MAX_URIS]}


async def _listen(
    client: ProbeClient, wanted: dict[str, Any], variant: str, id: Any = None
) -> Exchange:
    params = {"notifications": wanted}
    return await client.request(
        _LISTEN,
        params,
        variant=variant,
        id=id,
        keep_open=True,
        timeout=client.context.patience(_TIMEOUT),
    )


async def _wait_for_message(exchange: Exchange, seconds: float) -> None:
    """Wait for the first message of a stream."""
    for _ in range(round(seconds / _POLL_INTERVAL)):
        if exchange.incoming or any(frame.kind in _OVER for frame in exchange.replies):
            return
        await asyncio.sleep(_POLL_INTERVAL)
