"""The server of the cluster tests; `dovetail run shop.py:server` takes the URL from CLUSTER_URL."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from dovetail import Context, Options, Server

__all__ = ["NEWS", "STATE_KEY", "Order", "make_shop"]

NEWS = "shop://news"
# Shared by all processes, so that any of them opens what another has sealed.
STATE_KEY = b"the key of the shop in the tests"


@dataclass
class Order:
    """What the user is asked for."""

    amount: int


def make_shop(cluster_url: str | None, **options: object) -> Server:
    """A server of the cluster; the options are those of `Options`."""
    fixed = Options(state=cluster_url, state_keys=[STATE_KEY], **options)  # type: ignore[arg-type]
    server = Server("shop", options=fixed)

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add two numbers; needs nothing shared."""
        return a + b

    @server.tool
    async def where() -> int:
        """The id of the process that serves the call."""
        return os.getpid()

    @server.tool
    async def order(ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("How many?", Order)
        return f"{answer.data.amount} ordered" if answer.data else answer.action

    @server.tool
    async def count(number: int, ctx: Context, gap: float = 0.0) -> str:
        """Report progress with each number."""
        for each in range(1, number + 1):
            await ctx.progress(each, total=number, message=str(each))
            await asyncio.sleep(gap)
        return f"counted to {number}"

    @server.tool
    async def announce(uri: str = NEWS) -> str:
        """Say that a resource has changed."""
        server.resource_updated(uri)
        return "announced"

    @server.resource("shop://{page}")
    async def page(page: str) -> str:
        """A page of the shop."""
        return f"the {page}"

    return server


if "CLUSTER_URL" in os.environ:
    server = make_shop(os.environ["CLUSTER_URL"])
