"""basic/utilities/cancellation, basic/patterns/cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.wire import codec
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_ID = "dovetail-check-never-sent"


@probe("cancellations")
async def cancel_without_effect(client: ProbeClient) -> None:
    """finished: an answered request. unknown: an id never used. malformed: not an id.

    A fence request after each shows whether the server still responds.
    """
    finished = client.new_id()
    method = "server/discover" if client.is_modern else "ping"
    await client.request(method, id=finished, variant="request")
    await asyncio.gather(
        _cancel(client, "finished", {"requestId": finished, "reason": "too late"}),
        _cancel(client, "unknown", {"requestId": NO_SUCH_ID}),
        _cancel(client, "malformed", {"requestId": {"not": "an id"}}),
    )


async def _cancel(client: ProbeClient, variant: str, params: dict[str, Any]) -> None:
    method = "notifications/cancelled"
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    headers = client.headers_for(method)
    await client.send_lenient(codec.encode(message), variant=variant, headers=headers)
