"""basic/transports, stdio: what needs a question; the rest is read off whatever a process says."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

# Letters of two, three and four bytes.
NON_ASCII_ID = "dovetail-check-\u017elu\u0165-\u6f22\u5b57-\U0001f54a"
CANCELLED_ID = "dovetail-check-cancelled"
_PATIENCE = 2.0


@probe("non-ascii")
async def send_letters_of_many_bytes(client: ProbeClient) -> None:
    """A request whose id, to be echoed, is not ASCII."""
    method = "server/discover" if client.is_modern else "ping"
    await client.request(method, id=NON_ASCII_ID, timeout=_PATIENCE + client.at.slack)


@probe("cancel-listen", era=Family.MODERN, transports=("stdio",))
async def cancel_a_subscription(client: ProbeClient) -> None:
    """Listen, cancel it, and see whether it is over; two fences stand behind the cancellation."""
    wanted = {"notifications": {"toolsListChanged": True}}
    await client.request("subscriptions/listen", wanted, id=CANCELLED_ID, holds=True)
    told = {"requestId": CANCELLED_ID, "reason": "a check"}
    await client.notify("notifications/cancelled", told, variant="cancelled")
    for _ in range(2):
        await client.request("server/discover", variant="fence")
