"""basic/transports, stdio: what needs a question; the rest is read off whatever a process says."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.probing import probe
from dovetail_check.talk import Talk

__all__: list[str] = []

# Letters of two, three and four bytes.
NON_ASCII_ID = "dovetail-check-\u017elu\u0165-\u6f22\u5b57-\U0001f54a"
CANCELLED_ID = "dovetail-check-cancelled"
_PATIENCE = 2.0


@probe("non-ascii")
async def send_letters_of_many_bytes(talk: Talk) -> None:
    """A request whose id, to be echoed, is not ASCII."""
    method = "server/discover" if talk.is_modern else "ping"
    await talk.request(method, id=NON_ASCII_ID, timeout=_PATIENCE + talk.at.slack)


@probe("cancel-listen", era=Family.MODERN, transports=("stdio",))
async def cancel_a_subscription(talk: Talk) -> None:
    """Listen, cancel it, and see whether it is over; two fences stand behind the cancellation."""
    wanted = {"notifications": {"toolsListChanged": True}}
    await talk.request("subscriptions/listen", wanted, id=CANCELLED_ID, holds=True)
    told = {"requestId": CANCELLED_ID, "reason": "a check"}
    await talk.notify("notifications/cancelled", told, variant="cancelled")
    for _ in range(2):
        await talk.request("server/discover", variant="fence")
