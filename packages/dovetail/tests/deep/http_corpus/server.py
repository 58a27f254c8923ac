"""Counts the calls that reach the application; served by every stack that the corpus is sent to."""

from collections import Counter

from dovetail import Server

server = Server("counter")
counts: Counter[str] = Counter()


@server.tool
async def count(key: str) -> int:
    """Count a call."""
    counts[key] += 1
    return counts[key]


@server.tool
async def counted(key: str) -> int:
    """How many calls of this key have been counted."""
    return counts[key]


app = server.http_app()
