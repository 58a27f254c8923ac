"""The server that is treated badly: run by `dovetail run`, or as a script with tight limits.

Everything its package has to say goes to stderr, where the tests look for what must not be there.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import sys
from typing import Any

import uvloop

from dovetail import Context, Options, Server
from dovetail.transports import serve_http
from dovetail.transports.streamable_http.app import HttpApp

MOST_BYTES = 256 * 1024
MOST_SESSIONS = 50

logging.basicConfig(level=logging.WARNING)
logging.getLogger("dovetail").setLevel(logging.DEBUG)


class Target(Server):
    """A server that can tell what its HTTP application holds."""

    app: HttpApp

    # Without the overload for the console, which this server has not.
    def http_app(self, path: str = "/mcp", **options: Any) -> HttpApp:  # type: ignore[override]
        self.app = super().http_app(path, **options)
        return self.app


server = Target("target", version="1", options=Options(max_message_bytes=MOST_BYTES))
gate = asyncio.Event()
flooding: set[Context] = set()
muttering: list[asyncio.Future[None]] = []


@server.tool
async def held() -> dict[str, int]:
    """What the application holds for its clients, this call included."""
    return server.app.counts()._asdict()


@server.tool
async def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool
async def wait() -> str:
    """Wait until somebody calls release."""
    await gate.wait()
    return "waited"


@server.tool
async def release() -> str:
    """Let all go on who wait."""
    gate.set()
    gate.clear()
    return "released"


@server.tool
async def talk_and_wait(ctx: Context) -> str:
    """Say something, then wait."""
    await ctx.log.info("first")
    await gate.wait()
    return "waited"


@server.tool
async def flood(ctx: Context, megabytes: int) -> str:
    """Say more than anybody reads."""
    flooding.add(ctx)
    try:
        for _ in range(megabytes * 16):
            ctx.log.info("x" * 64 * 1024)
            await asyncio.sleep(0)
    finally:
        flooding.discard(ctx)
    return "flooded"


@server.tool
async def floods() -> int:
    """How many of them are at it."""
    return len(flooding)


@server.tool
async def mutter(ctx: Context) -> str:
    """Answer, and go on talking."""

    async def go_on() -> None:
        await asyncio.sleep(0)
        ctx.log.info("and another thing")

    muttering.append(asyncio.ensure_future(go_on()))
    return "that is all"


@server.tool
async def muttered() -> int:
    """How many talk on; those that are done are looked at, as somebody ought to."""
    for task in [task for task in muttering if task.done()]:
        muttering.remove(task)
        task.result()
    gc.collect()
    return len(muttering)


@server.tool
async def memory() -> int:
    """The most memory that the process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def serve_with_tight_limits(parser: str) -> None:
    def ready(port: int) -> None:
        sys.stderr.write(f"target: serving http://127.0.0.1:{port}/mcp; tightly\n")
        sys.stderr.flush()

    await serve_http(
        server,
        port=0,
        parser=parser,  # type: ignore[arg-type]
        on_ready=ready,
        body_timeout=0.3,
        max_sessions=MOST_SESSIONS,
        old_sse="/sse",
    )


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_with_tight_limits(sys.argv[1]))
