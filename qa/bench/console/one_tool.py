"""A server with one tool."""

from __future__ import annotations

from dovetail import Server

server = Server("one")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
