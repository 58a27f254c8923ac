"""A server with a thousand tools."""

from __future__ import annotations

from collections.abc import Callable

from dovetail import Server

server = Server("many")


def _make(number: int) -> Callable[..., str]:
    def tool(city: str, days: int = 3, detailed: bool = False) -> str:
        return f"{number}: {city} {days} {detailed}"

    tool.__doc__ = f"Forecast number {number} for a city, with as many details as you want."
    return tool


for _number in range(1000):
    server.tool(name=f"forecast_{_number:04}")(_make(_number))
