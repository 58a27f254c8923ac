"""A server whose question changes between the runs of a request; see test_consent.py."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail import Context, Server

server = Server("cashier", version="1.0.0")
# Asked for one after another; the last one stays.
prices = [1, 1000]
payments: list[int] = []


@dataclass
class Consent:
    """What the user says."""

    agreed: bool


@server.tool
async def pay(ctx: Context) -> str:
    """Pay the price of the moment."""
    price = prices[0] if len(prices) == 1 else prices.pop(0)
    answer = await ctx.elicit(f"Pay {price} EUR?", Consent)
    if answer.data is None or not answer.data.agreed:
        return f"did not pay {price}"
    payments.append(price)
    return f"paid {price}"


@server.tool
def list_payments() -> list[int]:
    """What was paid."""
    return payments
