"""basic/transports, stdio: rules that need their own requests; others read all traffic."""

from __future__ import annotations

import asyncio

from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.subscriptions import all_changes
from dovetail_check.probing import probe

__all__: list[str] = []

# Characters of two, three and four bytes in UTF-8.
NON_ASCII_ID = "dovetail-check-\u017elu\u0165-\u6f22\u5b57-\U0001f54a"
CANCELLED_ID = "dovetail-check-cancelled"
_TIMEOUT = 2.0


@probe("non-ascii")
async def send_a_non_ascii_id(client: ProbeClient) -> None:
    """A request whose id is not ASCII; the response must repeat it."""
    method = "server/discover" if client.is_modern else "ping"
    await client.request(method, id=NON_ASCII_ID, timeout=client.context.patience(_TIMEOUT))


@probe("cancel-listen", era=Family.MODERN, transports=("stdio",))
async def cancel_a_subscription(client: ProbeClient) -> None:
    """Listen, cancel the subscription, and call tools between two fence requests to detect late
    messages."""
    wanted = {"notifications": all_changes(client)}
    await client.request("subscriptions/listen", wanted, id=CANCELLED_ID, keep_open=True)
    told = {"requestId": CANCELLED_ID, "reason": "a check"}
    await client.notify("notifications/cancelled", told, variant="cancelled")
    await client.request("server/discover", variant="fence")
    await asyncio.gather(
        *(client.request("tools/call", call, variant="calls") for call in valid_calls(client))
    )
    await client.request("server/discover", variant="fence")
