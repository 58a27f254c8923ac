"""A server whose tools take longer than the connection they were called on."""

from __future__ import annotations

import asyncio

from dovetail import Context, Server

server = Server("ferry")
_landing = asyncio.Event()
_log: list[str] = []


@server.tool
async def cross(ctx: Context) -> str:
    """Go over and come back; the connection is let go in between."""
    await ctx.progress(1, 2, "left")
    ctx.disconnect(retry_ms=1)
    await ctx.progress(2, 2, "landed")
    return "Back again."


@server.tool
async def drift(ctx: Context) -> str:
    """Wait for `land`."""
    _landing.clear()
    await ctx.progress(1, 2, "left")
    try:
        await _landing.wait()
    except asyncio.CancelledError:
        _log.append("sunk")
        raise
    await ctx.progress(2, 2, "landed")
    return "Back again."


@server.tool
async def land() -> str:
    """Let `drift` end."""
    _landing.set()
    return "Landed."


@server.resource("ferry://log")
def log() -> str:
    """What happened to those who drifted."""
    return "\n".join(_log)
