"""A server that is stopped while calls run; started by `dovetail run`.

GRACE is the grace period, and STARTED the file to which each call writes its number when it begins.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from dovetail import Context, Options, Server
from qa.soak.messages import NOTE

_STARTED = os.open(os.environ["STARTED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


class StoppingServer(Server):
    """A server that offers HTTP+SSE as well, which `dovetail run` does not."""

    def http_app(self, path: str = "/mcp", **options: Any) -> Any:
        """The application, with the endpoint of HTTP+SSE."""
        return super().http_app(path, **{"old_sse": "/sse", **options})


server = StoppingServer("stopping", options=Options(grace=float(os.environ["GRACE"])))


@server.resource(NOTE)
async def note() -> str:
    """Something to subscribe to."""
    return "unchanged"


@server.tool
async def work(number: int, seconds: float) -> int:
    """Take this long; the response is plain JSON."""
    os.write(_STARTED, b"%d\n" % number)
    await asyncio.sleep(seconds)
    return number


@server.tool
async def work_and_report(ctx: Context, number: int, seconds: float) -> int:
    """Take this long; the response is a stream."""
    os.write(_STARTED, b"%d\n" % number)
    await ctx.progress(0, 1)
    await asyncio.sleep(seconds)
    return number


@server.tool
def work_in_thread(number: int, seconds: float) -> int:
    """Take this long, in a thread."""
    os.write(_STARTED, b"%d\n" % number)
    time.sleep(seconds)
    return number
