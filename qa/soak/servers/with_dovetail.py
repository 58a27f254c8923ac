"""dovetail as `dovetail run --http` serves it: one process, uvicorn, uvloop.

    python -m qa.soak.servers.with_dovetail DESCRIPTOR SESSION_LIFETIME

The descriptor is a socket that listens already.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import dataclass
from typing import Any

import uvloop

from dovetail import Context, Options, Server
from dovetail.transports.http_server import serve_http
from qa.soak.messages import NOTE
from qa.soak.servers.watched import Watched, raise_limit_of_files

# Longer than a client that is about to be killed lives, short enough to wait for.
_SLOW = 1.0
_ASK_TIMEOUT = 3.0


@dataclass
class Choice:
    """What a client is asked for."""

    name: str


class WatchedServer(Server):
    """A server whose application tells what it holds."""

    def http_app(self, path: str = "/mcp", **options: Any) -> Any:
        """The application, with the route beside it."""
        app = super().http_app(path, **options)
        return Watched(app, lambda: app.counts()._asdict())


server = WatchedServer("soak", options=Options(ask_timeout=_ASK_TIMEOUT))


@server.resource(NOTE)
async def note() -> str:
    """What changes."""
    return "changed"


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def touch() -> str:
    """Say that the note has changed."""
    server.resource_updated(NOTE)
    return "touched"


@server.tool
async def slow() -> str:
    """Take a while."""
    await asyncio.sleep(_SLOW)
    return "awake"


@server.tool
async def flood(ctx: Context) -> str:
    """Say more than fits between the two of us unless it is read: 16 MB."""
    for number in range(256):
        await ctx.progress(number, message="x" * 65536)
    return "said"


@server.tool
async def ask(ctx: Context) -> str:
    """Ask somebody who may never answer."""
    return (await ctx.elicit("Which one?", Choice)).action


def main() -> None:
    """Serve until a signal comes."""
    raise_limit_of_files()
    listener = socket.socket(fileno=int(sys.argv[1]))
    serving = serve_http(server, listener=listener, session_lifetime=float(sys.argv[2]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serving)


if __name__ == "__main__":
    main()
