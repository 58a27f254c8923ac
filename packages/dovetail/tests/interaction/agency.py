"""A server whose one tool asks the user twice, the model once, and acts once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from dovetail import Context, Options, Server, ToolError

__all__ = ["KEY", "Agency", "Consent", "Destination"]

KEY = b"k" * 32


@dataclass
class Destination:
    city: str
    nights: int = 2


@dataclass
class Consent:
    agreed: bool


class Agency:
    """A server with one tool, and a count of what the tool did and how often it ran."""

    def __init__(self, **options: Any) -> None:
        self.reservations: list[str] = []
        self.runs = 0
        self.server = Server("agency", options=Options(state_keys=[KEY], **options))
        self.server.tool(self.book)

    async def book(self, traveller: str, ctx: Context) -> str:
        """Book a trip."""
        self.runs += 1
        where = await ctx.elicit("Where to?", Destination, key="where")
        if where.data is None:
            raise ToolError(f"no trip: {where.action}")
        number = await ctx.once("reserve", lambda: self.reserve(where.data))
        poem = await ctx.sample(f"A line on {where.data.city}", max_tokens=20, key="poem")
        sure = await ctx.elicit("Sure?", Consent, key="sure")
        if not (sure.data and sure.data.agreed):
            return f"{traveller} stays at home, reservation {number}"
        return (
            f"{traveller} goes to {where.data.city} for {where.data.nights}: {poem.text} ({number})"
        )

    async def reserve(self, where: Destination | None) -> int:
        assert where is not None
        await asyncio.sleep(0)
        self.reservations.append(where.city)
        return len(self.reservations)
