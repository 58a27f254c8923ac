"""The server behind the proxy: one tool for each feature that passes through."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from dovetail import Audio, Context, Options, ResourceNotFoundError, Server

__all__ = ["make_upstream", "server"]


@dataclass
class Guest:
    """Who fills in the form."""

    name: str


def make_upstream() -> Server:  # noqa: C901 - a list of small handlers
    """A server with its own state."""
    server = Server(
        "upstream",
        version="3.2.1",
        instructions="Ask before you enter.",
        options=Options(page_size=5, state="memory://", task_poll=0.05, grace=0.2),
    )
    texts = {"1": "one"}
    cancelled: list[str] = []

    @server.tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @server.tool
    async def fail() -> str:
        """Fail."""
        raise ValueError("secret")

    @server.tool
    async def work(ctx: Context, steps: int) -> str:
        """Report progress and log."""
        for step in range(steps):
            await ctx.progress(step + 1, steps, f"step {step + 1}")
            await ctx.log.info(f"did {step + 1}")
        return "done"

    @server.tool
    async def greet(ctx: Context) -> str:
        """Ask for a name."""
        answer = await ctx.elicit("Who are you?", Guest)
        return answer.action if answer.data is None else f"Hello {answer.data.name}"

    @server.tool
    async def visit(ctx: Context) -> str:
        """Ask to open a page."""
        answer = await ctx.elicit("Log in", url="https://example.com/login")
        return answer.action

    @server.tool
    async def think(ctx: Context) -> str:
        """Ask the client's model."""
        return (await ctx.sample("What now?", max_tokens=10)).text

    @server.tool
    async def folders(ctx: Context) -> list[str]:
        """List the client's roots."""
        return [root.uri for root in await ctx.roots()]

    @server.tool
    async def hang(ctx: Context) -> str:
        """Wait until cancelled."""
        await ctx.progress(1)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("hang")
            raise
        return ""

    @server.tool
    async def cancellations() -> int:
        """Count the cancelled calls."""
        return len(cancelled)

    @server.tool
    async def beep() -> Audio:
        """Return audio."""
        return Audio(b"RIFF....WAVE", "audio/wav")

    @server.tool
    async def write(number: str, text: str) -> str:
        """Change a note."""
        texts[number] = text
        server.resource_updated(f"note://{number}")
        return "written"

    @server.tool
    async def grow() -> str:
        """Add a tool."""
        server.tool(f"extra_{os.urandom(4).hex()}")(add)
        return "grown"

    @server.tool(task="optional")
    async def bake(ctx: Context, ask: bool = False) -> str:
        """Run as a task, and ask for a name."""
        if not ask:
            return "a cake"
        answer = await ctx.elicit("For whom?", Guest)
        return f"a cake for {answer.data and answer.data.name}"

    @server.tool
    async def whoami(ctx: Context) -> str:
        """Return the credentials of the request."""
        headers = dict(ctx.scope["headers"])
        return str(headers.get(b"authorization", b"nobody").decode())

    @server.tool
    async def pid() -> int:
        """Return the process id."""
        return os.getpid()

    @server.resource("note://{number}")
    async def note(number: str) -> str:
        if number not in texts:
            raise ResourceNotFoundError(f"note://{number}")
        return texts[number]

    @server.resource("note://1/title")
    async def title() -> str:
        return "First"

    @server.prompt
    async def compose(topic: str) -> str:
        """Write about a topic."""
        return f"Write about {topic}"

    @server.complete("compose", "topic")
    def topics(value: str) -> list[str]:
        return [each for each in ("sea", "sky", "stone") if each.startswith(value)]

    return server


server = make_upstream()
