"""A server whose calls last as long as a test wants; FOLDER and GRACE come from the environment."""

import asyncio
import contextlib
import os
import time
from pathlib import Path

from msgspec import Struct

from dovetail import Context, Options, Server

FOLDER = Path(os.environ["FOLDER"])
server = Server("patient", options=Options(grace=float(os.environ["GRACE"])))


@server.tool
async def wait(name: str) -> str:
    """Wait until the file `name` exists."""
    (FOLDER / f"{name}.started").touch()
    while not (FOLDER / name).exists():
        await asyncio.sleep(0.01)
    return "done"


@server.tool
async def report_and_wait(ctx: Context, name: str) -> str:
    """Report progress first, so that the response is a stream."""
    await ctx.progress(1)
    return await wait(name)


class Sure(Struct):
    """A form."""

    value: bool


@server.tool
async def confirm(ctx: Context, name: str) -> str:
    """Ask the user; the result names the process that asked and the one that continued."""
    asked_by = await ctx.once("asked by", os.getpid, int)
    await ctx.elicit("Sure?", Sure)
    return f"{asked_by} {os.getpid()}"


@server.tool
async def ignore_cancellation(name: str) -> str:
    """Never end."""
    (FOLDER / f"{name}.started").touch()
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


@server.tool
async def block(name: str) -> str:
    """Block the event loop for good."""
    (FOLDER / f"{name}.started").touch()
    while True:
        time.sleep(1)


app = server.http_app()
