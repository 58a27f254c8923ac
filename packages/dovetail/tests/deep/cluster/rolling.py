"""A server whose tools say which process answers."""

import asyncio
import os
from pathlib import Path

from dovetail import Context, Server

server = Server("rolling")


@server.tool
async def where() -> str:
    """The process that answers."""
    return str(os.getpid())


@server.tool
async def report_and_wait(ctx: Context, file: str) -> str:
    """Report progress, and end when a file exists."""
    await ctx.progress(1)
    while not Path(file).exists():
        await asyncio.sleep(0.01)
    return "done"
