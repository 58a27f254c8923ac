"""The server behind every gateway."""

from __future__ import annotations

from dovetail import Server

server = Server("adder")


@server.tool
async def add(a: int, b: int) -> str:
    """Add two numbers; the sum is text, since FastMCP's proxy refuses structured numbers."""
    return str(a + b)
